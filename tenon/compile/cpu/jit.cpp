// LLVM's ORC, kept in one room: targets, passes, linking; and the one symbol that libtenon looks up.
#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <atomic>
#include <fstream>

#include "tenon/base/dump.h"
#include "tenon/base/settings.h"
#include "tenon/compile/codegen.h"
#include "tenon/compile/cpu/function_emitter.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/factors.h"
#include "tenon/runtime/host_calls.h"
#include "tenon/runtime/lists.h"
#include "tenon/runtime/parallel_for.h"
#include "tenon/runtime/products.h"
#include "tenon/runtime/sorting.h"
#include "tenon/runtime/units.h"

namespace tenon::cpu {
namespace {

// Of the last cache as the system tells it of its first processor; where it tells none, of one that many have.
std::int64_t last_cache_bytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::int64_t kilobytes = 0;
  char unit = 0;
  return file >> kilobytes >> unit && unit == 'K' && kilobytes > 0 ? kilobytes << 10 : 32 << 20;
}

// The processor as it is, or as TENON_CPU caps it: baseline, avx2, avx512.
Target detect() {
  Target target{
      .vector_bytes = 16, .cache_bytes = last_cache_bytes(), .cpu = llvm::sys::getHostCPUName().str(), .features = {}};
  const auto host = llvm::sys::getHostCPUFeatures();
  const auto has = [&](const char* feature) { return host.lookup(feature); };
  const std::string_view limit = setting("TENON_CPU").value_or("avx512");
  if (limit != "baseline" && limit != "avx2" && limit != "avx512")
    warn_of_setting("TENON_CPU",
                    fmt::format("there is no {}; there are baseline, avx2 and avx512, which is used.", limit));
  const bool avx2 = has("avx2") && has("fma") && limit != "baseline", avx512 = avx2 && has("avx512f") &&
                                                                               has("avx512vl") && has("avx512dq") &&
                                                                               has("avx512bw") && limit != "avx2";
  if (avx512) {
    target.vector_bytes = 64;
    for (const auto& feature : host)
      target.features +=
          (target.features.empty() ? "" : ",") + std::string(feature.getValue() ? "+" : "-") + feature.getKey().str();
  } else {
    target.cpu = avx2 ? "x86-64-v3" : "x86-64";
    target.vector_bytes = avx2 ? 32 : 16;
  }
  return target;
}

struct Compiler {
  explicit Compiler(llvm::orc::JITTargetMachineBuilder builder) : machine(std::move(builder)) {}
  llvm::orc::JITTargetMachineBuilder machine;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Target target;
  std::atomic<std::uint64_t> next{0};
};

llvm::Expected<std::unique_ptr<Compiler>> make_compiler() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder) return builder.takeError();
  auto compiler = std::make_unique<Compiler>(*builder);
  compiler->target = detect();
  builder->setCPU(compiler->target.cpu);
  builder->getFeatures() = llvm::SubtargetFeatures(compiler->target.features);
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Fast;
  compiler->machine = *builder;
  // A target machine of its own for each compilation: threads compile at once.
  auto jit =
      llvm::orc::LLJITBuilder()
          .setJITTargetMachineBuilder(*builder)
          .setCompileFunctionCreator([](llvm::orc::JITTargetMachineBuilder machine)
                                         -> llvm::Expected<std::unique_ptr<llvm::orc::IRCompileLayer::IRCompiler>> {
            return std::make_unique<llvm::orc::ConcurrentIRCompiler>(std::move(machine));
          })
          .create();
  if (!jit) return jit.takeError();
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process) return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  llvm::orc::SymbolMap own;
  const auto define = [&](const char* name, auto* function) {
    own[(*jit)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("tenon_stops", &tenon_stops);
  define("tenon_gemm", &tenon_gemm);
  define("tenon_parallel_for", &tenon_parallel_for);
  define("tenon_cholesky", &tenon_cholesky);
  define("tenon_triangular_solve", &tenon_triangular_solve);
  define("tenon_solve", &tenon_solve);
  define("tenon_sort", &tenon_sort);
  define("tenon_argsort", &tenon_argsort);
  define("tenon_top_k", &tenon_top_k);
  define("tenon_host_call", &tenon_host_call);
  define("tenon_call_unit", &tenon_call_unit);
  define("tenon_list_make", &tenon_list_make);
  define("tenon_list_grow", &tenon_list_grow);
  define("tenon_list_finish", &tenon_list_finish);
  define("tenon_list_open", &tenon_list_open);
  define("tenon_list_steps", &tenon_list_steps);
  define("tenon_list_trim", &tenon_list_trim);
  define("tenon_list_retain", &tenon_list_retain);
  define("tenon_list_release", &tenon_list_release);
  define("tenon_list_active", &tenon_list_active);
  define("tenon_list_select", &tenon_list_select);
  define("tenon_list_put", &tenon_list_put);
  define("tenon_list_add", &tenon_list_add);
  define("tenon_list_get", &tenon_list_get);
  define("tenon_list_get_list", &tenon_list_get_list);
  define("tenon_list_stack", &tenon_list_stack);
  define("tenon_list_unstack", &tenon_list_unstack);
  define("tenon_list_spread", &tenon_list_spread);
  define("tenon_list_collapse", &tenon_list_collapse);
  define("tenon_list_fit", &tenon_list_fit);
  define("tenon_list_sum", &tenon_list_sum);
  if (auto failure = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(own)))) return failure;
  compiler->jit = std::move(*jit);
  return compiler;
}

// A short list: what the emitter leaves to do is registers for locals, common loads, and what does not change in loops.
void optimise(llvm::Module& module) {
  llvm::PassBuilder passes;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graphs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager pipeline;
  if (auto failure = passes.parsePassPipeline(pipeline, "function(sroa,early-cse<memssa>,loop-mssa(licm),simplifycfg)"))
    llvm::report_fatal_error(std::move(failure));
  pipeline.run(module, modules);
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return out.str();
}

// Of a copy: generating code changes a module.
std::string assembly_of(const llvm::Module& module, llvm::orc::JITTargetMachineBuilder builder) {
  auto machine = builder.createTargetMachine();
  if (!machine) return llvm::toString(machine.takeError());
  const auto copy = llvm::CloneModule(module);
  copy->setTargetTriple((*machine)->getTargetTriple().str());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return "this target has no assembly\n";
  passes.run(*copy);
  return text.str().str();
}

struct Code : NativeCode {
  Code(llvm::orc::ResourceTrackerSP owner, llvm::orc::ExecutorAddr address) : tracker(std::move(owner)) {
    entry = address.toPtr<decltype(entry)>();
    release = [](NativeCode* code) { delete static_cast<Code*>(code); };
  }
  ~Code() { llvm::consumeError(tracker->remove()); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  llvm::orc::ResourceTrackerSP tracker;
};

llvm::Expected<NativeCode*> compile(const kernel::Function& function) {
  static auto& made = *new auto(make_compiler());  // outlives the code that is still held when the process ends
  if (!made) return llvm::createStringError("the code generator cannot start");
  Compiler& compiler = **made;
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("tenon", *context);
  module->setDataLayout(compiler.jit->getDataLayout());
  const std::string name = "tenon_entry_" + std::to_string(compiler.next.fetch_add(1));
  emit_function(*module, function, compiler.target, name);
  if (dumping()) dump("emitted.ll", text_of(*module));
  std::string broken;
  llvm::raw_string_ostream report(broken);
  if (llvm::verifyModule(*module, &report))
    return llvm::createStringError("the code generator made a broken module: " + report.str());
  optimise(*module);
  if (dumping()) {
    dump("optimised.ll", text_of(*module));
    dump("assembly.s", assembly_of(*module, compiler.machine));
  }
  auto tracker = compiler.jit->getMainJITDylib().createResourceTracker();
  if (auto failure =
          compiler.jit->addIRModule(tracker, llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return failure;
  auto address = compiler.jit->lookup(name);
  if (!address) return address.takeError();
  return new Code(std::move(tracker), *address);
}

}  // namespace
}  // namespace tenon::cpu

extern "C" __attribute__((visibility("default"))) tenon::NativeCode* tenon_codegen_compile(
    const tenon::kernel::Function& function, std::string* error) {
  auto code = tenon::cpu::compile(function);
  if (code) return *code;
  *error = llvm::toString(code.takeError());
  return nullptr;
}
