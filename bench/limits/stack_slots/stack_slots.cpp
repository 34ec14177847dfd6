// Case 9: do small buffers as stack slots + SROA reach the limit? Emits IR in which every carry and temporary is an
// alloca and every inner loop is unrolled, runs a short list of passes and LLVM's code generator, and times both the
// compiler and the code. Needs llvm-19-dev.
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>
using namespace llvm;

// Text of one function f(ptr state, i64 steps): slots in, `steps` times body, slots out.
struct Emitter {
  std::string allocas, prologue, body, epilogue, type;
  int next = 0;
  std::string slot(const std::string& name, const std::string& ty) {
    allocas += "  %" + name + " = alloca " + ty + ", align 64\n";
    return "%" + name;
  }
  std::string at(const std::string& base, int i) {
    if (!i) return base;
    std::string r = fresh();
    body += "  " + r + " = getelementptr inbounds " + type + ", ptr " + base + ", i64 " + std::to_string(i) + "\n";
    return r;
  }
  std::string fresh() { return "%t" + std::to_string(next++); }
  std::string constant(double v) {
    char b[32];
    snprintf(b, 32, "0x%016lX", std::bit_cast<uint64_t>(type == "float" ? double(float(v)) : v));
    return b;
  }
  std::string load(const std::string& p) {
    std::string r = fresh();
    body += "  " + r + " = load " + type + ", ptr " + p + "\n";
    return r;
  }
  void store(const std::string& v, const std::string& p) { body += "  store " + type + " " + v + ", ptr " + p + "\n"; }
  // out[i] = a[i] op b[i], one element, operands read from slots or constants, the result written to a slot
  std::string op(const char* o, const std::string& a, const std::string& b) {
    std::string r = fresh();
    body += "  " + r + " = " + o + " contract " + type + " " + a + ", " + b + "\n";
    return r;
  }
  std::string text() const {
    return "define void @f(ptr noalias %state, i64 %steps) {\nentry:\n" + allocas + prologue +
           "  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]\n" + body +
           "  %i1 = add nuw nsw i64 %i, 1\n  %more = icmp slt i64 %i1, %steps\n  br i1 %more, label %loop, label "
           "%done\ndone:\n" +
           epilogue + "  ret void\n}\n";
  }
  void copy_in_out(const std::string& base, int n, int from) {  // state[from..from+n) <-> slot
    for (int i = 0; i < n; i++) {
      std::string s = "%s" + std::to_string(next), d = "%d" + std::to_string(next), v = "%v" + std::to_string(next++),
                  N = std::to_string(from + i), I = std::to_string(i);
      auto gep = [&](const std::string& r, const std::string& b, const std::string& k) {
        return "  " + r + " = getelementptr " + type + ", ptr " + b + ", i64 " + k + "\n";
      };
      prologue += gep(s, "%state", N) + gep(d, base, I) + "  " + v + " = load " + type + ", ptr " + s + "\n  store " +
                  type + " " + v + ", ptr " + d + "\n";
      epilogue += gep(s + "e", "%state", N) + gep(d + "e", base, I) + "  " + v + "e = load " + type + ", ptr " + d +
                  "e\n  store " + type + " " + v + "e, ptr " + s + "e\n";
    }
  }
};
// v[k] <- 0.99 v[k] + 0.01 v[k+1]: 60 carries, 60 next values and 120 products, each a slot of its own.
static std::string sixty() {
  Emitter e{.type = "float"};
  auto n = [](const char* p, int k) { return p + std::to_string(k); };
  for (int k = 0; k < 60; k++) {
    e.copy_in_out(e.slot(n("c", k), "float"), 1, k);
    for (const char* p : {"a", "b", "n"}) e.slot(n(p, k), "float");
  }
  for (int k = 0; k < 60; k++) {
    e.store(e.op("fmul", e.load("%" + n("c", k)), e.constant(0.99)), "%" + n("a", k));
    e.store(e.op("fmul", e.load("%" + n("c", (k + 1) % 60)), e.constant(0.01)), "%" + n("b", k));
    e.store(e.op("fadd", e.load("%" + n("a", k)), e.load("%" + n("b", k))), "%" + n("n", k));
  }
  for (int k = 0; k < 60; k++) e.store(e.load("%" + n("n", k)), "%" + n("c", k));
  return e.text();
}
// B <- 0.5·(A·B·A): buffers of nine doubles, sums accumulated in the output buffer as a loop nest would.
// from_zero: every sum begins with a stored 0, which IEEE keeps (0 + -0 = 0); otherwise with its first product.
static std::string three(bool from_zero) {
  Emitter e{.type = "double"};
  std::string A = e.slot("A", "[9 x double]"), B = e.slot("B", "[9 x double]"), C = e.slot("C", "[9 x double]"),
              D = e.slot("D", "[9 x double]"), E = e.slot("E", "[9 x double]");
  e.copy_in_out(B, 9, 0);
  e.copy_in_out(A, 9, 9);
  auto product = [&](const std::string& X, const std::string& Y, const std::string& Z) {
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) {
        if (from_zero)
          e.store(e.constant(0), e.at(Z, 3 * r + c));
        else
          e.store(e.op("fmul", e.load(e.at(X, 3 * r)), e.load(e.at(Y, c))), e.at(Z, 3 * r + c));
        for (int k = from_zero ? 0 : 1; k < 3; k++)
          e.store(e.op("fadd", e.load(e.at(Z, 3 * r + c)),
                       e.op("fmul", e.load(e.at(X, 3 * r + k)), e.load(e.at(Y, 3 * k + c)))),
                  e.at(Z, 3 * r + c));
      }
  };
  product(A, B, C);
  product(C, A, D);
  for (int i = 0; i < 9; i++) e.store(e.op("fmul", e.constant(0.5), e.load(e.at(D, i))), e.at(E, i));
  for (int i = 0; i < 9; i++) e.store(e.load(e.at(E, i)), e.at(B, i));
  return e.text();
}
// The 60 scalars as one padded buffer of four vectors, the shift as shuffles: what an emitter that recognises the
// stencil would write.
static std::string packed() {
  Emitter e{.type = "<16 x float>"};
  e.copy_in_out(e.slot("c", "[4 x <16 x float>]"), 4, 0);
  auto splat = [&](float v) {
    std::string s = "<";
    char b[40];
    for (int i = 0; i < 16; i++) {
      snprintf(b, 40, "%sfloat 0x%016lX", i ? ", " : "", std::bit_cast<uint64_t>(double(v)));
      s += b;
    }
    return s + ">";
  };
  std::string v[4], n[4];
  for (int j = 0; j < 4; j++) v[j] = e.load(e.at("%c", j));
  for (int j = 0; j < 4; j++) {
    n[j] = e.fresh();
    e.body +=
        "  " + n[j] + " = shufflevector <16 x float> " + v[j] + ", <16 x float> " + v[(j + 1) % 4] + ", <16 x i32> <";
    for (int i = 0; i < 16; i++)
      e.body += std::string(i ? ", " : "") + "i32 " +
                std::to_string(j == 3 && i == 11  ? 16
                               : j == 3 && i > 11 ? 15
                                                  : i + 1);
    e.body += ">\n";
  }
  for (int j = 0; j < 4; j++)
    e.store(e.op("fadd", e.op("fmul", v[j], splat(0.99f)), e.op("fmul", n[j], splat(0.01f))), e.at("%c", j));
  return e.text();
}
static double ms_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t).count();
}
int main() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  InitializeNativeTargetAsmParser();
  struct Kernel {
    const char* name;
    std::string text;
    long steps;
    bool wide;
  };
  std::vector<Kernel> kernels{{"60 scalars, 240 slots", sixty(), 614, false},
                              {"3x3 f64, 5 slots of 9, sums from zero", three(true), 100000, true},
                              {"3x3 f64, 5 slots of 9, sums from the first product", three(false), 100000, true},
                              {"60 scalars packed, shuffles", packed(), 614, false}};
  for (auto& k : kernels)
    for (const char* passes : {"", "sroa", "sroa,early-cse", "sroa,instsimplify", "sroa,early-cse,instcombine",
                               "sroa,early-cse,loop-mssa(licm)", "sroa,early-cse,instcombine,slp-vectorizer",
                               "sroa,early-cse,reassociate,instcombine,loop-mssa(licm),slp-vectorizer,early-cse",
                               "default<O1>", "default<O2>", "default<O3>"}) {
      std::vector<double> opt, gen, run;
      float check = 0;
      for (int rep = 0; rep < 7; rep++) {
        auto jtmb = cantFail(orc::JITTargetMachineBuilder::detectHost());
        jtmb.setCodeGenOptLevel(CodeGenOptLevel::Default);
        auto tm = cantFail(jtmb.createTargetMachine());
        auto ctx = std::make_unique<LLVMContext>();
        SMDiagnostic err;
        auto m = parseAssemblyString(k.text, err, *ctx);
        if (!m) {
          err.print("stack_slots", errs());
          return 1;
        }
        m->setDataLayout(tm->createDataLayout());
        m->setTargetTriple(tm->getTargetTriple().str());
        for (auto& f : *m) {
          f.addFnAttr("target-cpu", tm->getTargetCPU());
          f.addFnAttr("target-features", tm->getTargetFeatureString());
          f.addFnAttr("prefer-vector-width", "512");
        }
        auto t = std::chrono::steady_clock::now();
        LoopAnalysisManager lam;
        FunctionAnalysisManager fam;
        CGSCCAnalysisManager cam;
        ModuleAnalysisManager mam;
        PassBuilder pb(tm.get());
        pb.registerModuleAnalyses(mam);
        pb.registerCGSCCAnalyses(cam);
        pb.registerFunctionAnalyses(fam);
        pb.registerLoopAnalyses(lam);
        pb.crossRegisterProxies(lam, fam, cam, mam);
        std::string list = passes;
        if (!list.empty() && list[0] != 'd') list = "function(" + list + ")";
        ModulePassManager mpm;
        if (!list.empty()) {
          cantFail(pb.parsePassPipeline(mpm, list));
          mpm.run(*m, mam);
        }
        opt.push_back(ms_since(t));
        t = std::chrono::steady_clock::now();
        orc::SimpleCompiler compile(*tm);
        auto object = cantFail(compile(*m));
        gen.push_back(ms_since(t));
        auto jit = cantFail(orc::LLJITBuilder().create());
        cantFail(jit->addObjectFile(std::move(object)));
        auto f = cantFail(jit->lookup("f")).toPtr<void (*)(void*, long)>();
        alignas(64) float s[64] = {};
        alignas(64) double d[18];
        std::vector<double> ts;
        for (int r = 0; r < 9; r++) {
          for (int i = 0; i < 60; i++) s[i] = i / 59.0f;
          for (int i = 0; i < 9; i++) {
            d[9 + i] = i % 4 ? .01 : 1.01;
            d[i] = 1.9 * d[9 + i];
          }
          if (k.wide) d[0] = d[4] = d[8] = 1e300;  // far from subnormals for the first thousand steps; zero soon after
          long inner = k.wide ? 1 : 100;
          auto u = std::chrono::steady_clock::now();
          for (long i = 0; i < inner; i++) f(k.wide ? (void*)d : (void*)s, k.wide ? 1000 : k.steps);
          ts.push_back(ms_since(u) * 1e6 / (k.wide ? 1000 : k.steps) / inner);
        }
        std::sort(ts.begin(), ts.end());
        run.push_back(ts[4]);
        check = k.wide ? float(d[1]) : s[0];
      }
      for (auto* v : {&opt, &gen, &run}) std::sort(v->begin(), v->end());
      printf(
          "{\"case\":\"stack slots: "
          "%s\",\"figure\":\"%s\",\"value\":%.4g,\"unit\":\"ns/"
          "iter\",\"passes_ms\":%.3g,\"codegen_ms\":%.3g,\"check\":%.6g}\n",
          k.name, *passes ? passes : "no passes", run[3], opt[3], gen[3], check);
      fflush(stdout);
    }
}
