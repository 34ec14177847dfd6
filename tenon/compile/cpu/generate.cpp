// LLVM, from a Function to a code image: targets, passes, objects; and the one symbol that libtenon looks up.
#include <fmt/format.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/SplitModule.h>

#include "tenon/base/dump.h"
#include "tenon/base/settings.h"
#include "tenon/compile/cpu/function_emitter.h"
#include "tenon/compile/cpu/image.h"
#include "tenon/compile/cpu/size_code.h"
#include "tenon/compile/native/codegen.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/runtime/threads/processors.h"
#include "tenon/runtime/threads/tasks.h"

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

void set_option(const char* name) {
  auto& options = llvm::cl::getRegisteredOptions();
  // Some are read only where they occur as on a command line.
  if (const auto found = options.find(name); found != options.end()) found->second->addOccurrence(0, name, "true");
}

// What takes LLVM much time and makes our code no faster. These are settings of this library's own LLVM.
void leave_out_what_does_not_pay() {
  // This pass moves integers to and from the registers of masks. We emit masks as truths of vectors, so it finds
  // nothing, and looking takes half the time of generating code for a body of 2,000 integer operations.
  set_option("disable-x86-domain-reassignment");
  // The scheduler behind register allocation takes up to a quarter of the time. The processors that we emit for order
  // instructions by themselves.
  set_option("disable-post-ra");
  // Registers are given to short live ranges first. Long blocks have fewer evictions so, and allocation takes half the
  // time.
  set_option("greedy-reverse-local-assignment");
}

const Target& start() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  leave_out_what_does_not_pay();
  return *new Target(detect());
}

// A short list: what the emitter leaves to do is registers for locals, common loads, and what does not change in loops.
class Optimiser {
 public:
  Optimiser() {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(graphs_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
    if (auto failure =
            builder_.parsePassPipeline(passes_, "function(sroa,early-cse<memssa>,loop-mssa(licm),simplifycfg)"))
      llvm::report_fatal_error(std::move(failure));
  }
  void run(llvm::Module& module) {
    passes_.run(module, modules_);
    loops_.clear(), functions_.clear(), graphs_.clear(), modules_.clear();
  }

 private:
  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
  llvm::ModulePassManager passes_;
};

using Bytes = llvm::SmallVector<char, 0>;

// Writes modules as files of one type. Doing so changes a module: whoever needs it afterwards gives a copy.
class Writer {
 public:
  Writer(llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
    if (machine.addPassesToEmitFile(passes_, out_, nullptr, type))
      llvm::report_fatal_error("this target writes no such files");
  }
  Bytes write(llvm::Module& module) {
    passes_.run(module);
    return std::exchange(bytes_, {});
  }

 private:
  Bytes bytes_;
  llvm::raw_svector_ostream out_{bytes_};
  llvm::legacy::PassManager passes_;
};

// What compiles modules, one after the other. Each thread has one, since threads compile at once: making the hundred
// passes, the target machine, and what it finds out of the processor's features, would be half of the time that a short
// function takes.
struct Compiler {
  explicit Compiler(const Target& target) : machine(make_machine(target)) {}
  static Compiler& of_thread(const Target& target) {
    static thread_local Compiler compiler(target);
    return compiler;
  }
  Bytes object_of(llvm::Module& module) {
    optimiser.run(module);
    return objects.write(module);
  }

  const std::unique_ptr<llvm::TargetMachine> machine;
  Optimiser optimiser;
  Writer objects{*machine, llvm::CodeGenFileType::ObjectFile};
};

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return out.str();
}

std::string assembly_of(const llvm::Module& module, llvm::TargetMachine& machine) {
  const Bytes text = Writer(machine, llvm::CodeGenFileType::AssemblyFile).write(*llvm::CloneModule(module));
  return {text.begin(), text.end()};
}

llvm::MemoryBufferRef buffer(const Bytes& bytes) { return {llvm::StringRef(bytes.data(), bytes.size()), "tenon"}; }

// A long module is optimised and compiled in parts of that many instructions or more, on the threads of the pool: 50 to
// 100 ms each.
constexpr unsigned long_part = 1500;

unsigned parts_of(const llvm::Module& module) {
  if (tenon_inside_parallel()) return 1;  // other cores are busy
  const unsigned least = units_are_small() ? 50 : long_part;
  return std::min<unsigned>(static_cast<unsigned>(threads()), module.getInstructionCount() / least);
}

constexpr const char *entry_name = "tenon_entry", *sizes_name = "tenon_sizes";
constexpr Symbols symbols{entry_name, sizes_name, numbers_name};

// Each part in a context of its own, which it comes to as bitcode: what is in one context is one thread's.
llvm::Expected<CodeImage> compile_in_parts(llvm::Module& module, const Target& target, unsigned count) {
  std::vector<Bytes> parts;
  llvm::SplitModule(
      module, count,
      [&](std::unique_ptr<llvm::Module> part) {
        llvm::raw_svector_ostream out(parts.emplace_back());
        llvm::WriteBitcodeToFile(*part, out);
      },
      false, true);
  std::vector<Bytes> objects(parts.size());
  std::vector<std::string> errors(parts.size());
  run_tasks(parts.size(), [&](std::size_t i) {
    llvm::LLVMContext context;
    auto part = llvm::parseBitcodeFile(buffer(parts[i]), context);
    if (!part) {
      errors[i] = llvm::toString(part.takeError());
      return;
    }
    objects[i] = Compiler::of_thread(target).object_of(**part);
  });
  std::vector<llvm::MemoryBufferRef> made;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!errors[i].empty()) return llvm::createStringError(errors[i]);
    made.push_back(buffer(objects[i]));
  }
  return image_of(made, symbols);
}

llvm::Expected<CodeImage> compile(const kernel::Function& function, const kernel::OpenNumbers& numbers,
                                  const CallSizes& sizes) {
  static const Target& target = start();
  llvm::LLVMContext context;
  llvm::Module module("tenon", context);
  Compiler& compiler = Compiler::of_thread(target);
  module.setTargetTriple(compiler.machine->getTargetTriple().str());
  module.setDataLayout(compiler.machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  emit_function(module, function, numbers, target, entry_name);
  if (!sizes.limits.empty() || !sizes.values.empty()) emit_sizes(module, sizes, target, sizes_name);
  if (dumping()) dump("emitted.ll", text_of(module));
  std::string wrong;
  llvm::raw_string_ostream report(wrong);
  if (llvm::verifyModule(module, &report))
    return llvm::createStringError("the code generator made a broken module: " + report.str());
  if (const unsigned parts = parts_of(module); parts > 1 && !dumping()) return compile_in_parts(module, target, parts);
  compiler.optimiser.run(module);
  if (dumping()) {
    dump("optimised.ll", text_of(module));
    dump("assembly.s", assembly_of(module, *compiler.machine));
  }
  const Bytes object = compiler.objects.write(module);
  return image_of(std::array{buffer(object)}, symbols);
}

}  // namespace
}  // namespace tenon::cpu

extern "C" __attribute__((visibility("default"))) bool tenon_codegen_generate(const tenon::kernel::Function& function,
                                                                              const tenon::kernel::OpenNumbers& numbers,
                                                                              const tenon::CallSizes& sizes,
                                                                              tenon::CodeImage* image,
                                                                              std::string* error) {
  auto made = tenon::cpu::compile(function, numbers, sizes);
  if (made) return *image = std::move(*made), true;
  *error = llvm::toString(made.takeError());
  return false;
}
