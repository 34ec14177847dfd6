// LLVM, from a Function to a code image: targets, passes, objects; and the one symbol that libtenon looks up.
#include <fmt/format.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "tenon/base/dump.h"
#include "tenon/base/settings.h"
#include "tenon/compile/codegen.h"
#include "tenon/compile/cpu/function_emitter.h"
#include "tenon/compile/cpu/image.h"
#include "tenon/runtime/processors.h"

namespace tenon::cpu {
namespace {

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

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (found == nullptr) llvm::report_fatal_error(llvm::StringRef(error));
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.features, options,
                                                                         llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                         llvm::CodeGenOptLevel::Default));
}

// Each thread has one, since threads compile at once: making it, and what it finds out of the processor's features,
// would be a fifth of the time that a short function takes.
llvm::TargetMachine& machine_of_thread(const Target& target) {
  static thread_local const std::unique_ptr<llvm::TargetMachine> machine = make_machine(target);
  return *machine;
}

const Target& start() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  return *new Target(detect());
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

// Generating code changes a module: whoever needs it afterwards gives a copy.
template <class Text>
bool generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type, Text& text) {
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type)) return false;
  passes.run(module);
  return true;
}

std::string assembly_of(const llvm::Module& module, const Target& target) {
  llvm::SmallString<0> text;
  if (!generate(*llvm::CloneModule(module), machine_of_thread(target), llvm::CodeGenFileType::AssemblyFile, text))
    return "this target has no assembly\n";
  return text.str().str();
}

llvm::Expected<CodeImage> compile(const kernel::Function& function) {
  static const Target& target = start();
  constexpr const char* name = "tenon_entry";
  llvm::LLVMContext context;
  llvm::Module module("tenon", context);
  llvm::TargetMachine& machine = machine_of_thread(target);
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  emit_function(module, function, target, name);
  if (dumping()) dump("emitted.ll", text_of(module));
  std::string wrong;
  llvm::raw_string_ostream report(wrong);
  if (llvm::verifyModule(module, &report))
    return llvm::createStringError("the code generator made a broken module: " + report.str());
  optimise(module);
  if (dumping()) {
    dump("optimised.ll", text_of(module));
    dump("assembly.s", assembly_of(module, target));
  }
  llvm::SmallVector<char, 0> object;
  if (!generate(module, machine, llvm::CodeGenFileType::ObjectFile, object))
    return llvm::createStringError("this target has no objects");
  return image_of({llvm::StringRef(object.data(), object.size()), "tenon"}, name);
}

}  // namespace
}  // namespace tenon::cpu

extern "C" __attribute__((visibility("default"))) bool tenon_codegen_generate(const tenon::kernel::Function& function,
                                                                              tenon::CodeImage* image,
                                                                              std::string* error) {
  auto made = tenon::cpu::compile(function);
  if (made) return *image = std::move(*made), true;
  *error = llvm::toString(made.takeError());
  return false;
}
