// The machine that a module is for.
#include "attributes.h"
#include "module.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>

using namespace llvm;

// The back ends of this build; LLVM's headers declare these functions only for the SDK's own list.
#define EACH(NAME)                                                                                                     \
  extern "C" void LLVMInitialize##NAME##TargetInfo();                                                                  \
  extern "C" void LLVMInitialize##NAME##Target();                                                                      \
  extern "C" void LLVMInitialize##NAME##TargetMC();                                                                    \
  extern "C" void LLVMInitialize##NAME##AsmPrinter();                                                                  \
  extern "C" void LLVMInitialize##NAME##AsmParser();
BURNISH_EACH_TARGET
#undef EACH

// From how many cases on a switch becomes a table is a variable of the process. WebAssembly's back end sets it, and
// from then on all others would use its number. CMakeLists.txt has the linker call these functions instead, which
// keep a number for each architecture. Those that set none have LLVM's.
#define ENTRIES "_ZNK4llvm18TargetLoweringBase26getMinimumJumpTableEntriesEv"
unsigned common_entries(const TargetLoweringBase *) asm("__real_" ENTRIES);
unsigned entries(const TargetLoweringBase *) asm("__wrap_" ENTRIES);
#undef ENTRIES
void set_entries(const TargetLoweringBase *,
                 unsigned) asm("__wrap__ZN4llvm18TargetLoweringBase26setMinimumJumpTableEntriesEj");
void set_most(const TargetLoweringBase *,
              unsigned) asm("__wrap__ZN4llvm18TargetLoweringBase23setMaximumJumpTableSizeEj");

static std::atomic<unsigned> &own_entries(const TargetLoweringBase *lowering) {
  static std::array<std::atomic<unsigned>, Triple::LastArchType + 1> numbers; // 0: none of its own
  return numbers[lowering->getTargetMachine().getTargetTriple().getArch()];
}

unsigned entries(const TargetLoweringBase *lowering) {
  unsigned own = own_entries(lowering);
  return own ? own : common_entries(lowering);
}

void set_entries(const TargetLoweringBase *lowering, unsigned number) { own_entries(lowering) = number; }

// The longest table is such a variable, too. AArch64's back end sets it for Exynos; here tables have no limit.
void set_most(const TargetLoweringBase *, unsigned) {}

namespace burnish {

namespace {

// Returns this build's back end for a triple; null for other machines and for other formats of objects.
const Target *back_end(const Triple &triple) {
  bool usual = triple.isOSBinFormatELF() || triple.isOSBinFormatMachO() || triple.isOSBinFormatCOFF();
  if (triple.isWasm() ? !triple.isOSBinFormatWasm() : !usual)
    return nullptr;
  initialize_target();
  std::string problem;
  return TargetRegistry::lookupTarget(triple, problem);
}

// The names of this build's back ends, such as "aarch64, arm".
std::string names() {
  SmallVector<StringRef> found;
  for (const Target &target : TargetRegistry::targets())
    found.push_back(target.getName());
  llvm::sort(found);
  return join(found, ", ");
}

// What the front end was told of the machine is an attribute of each function that it made.
StringRef of_functions(const llvm::Module &module, StringRef attribute) {
  for (const Function &function : module)
    if (!function.isDeclaration() && function.hasFnAttribute(attribute))
      return function.getFnAttribute(attribute).getValueAsString();
  return "";
}

// Returns a CPU's features without those that set or clear only what is set or clear already.
std::string changing_features(const llvm::Module &module, StringRef cpu, StringRef features) {
  const Triple &triple = module.getTargetTriple();
  static std::mutex mutex;
  static std::map<std::array<std::string, 3>, std::string> found;
  std::lock_guard<std::mutex> lock(mutex);
  std::string &known = found[{triple.str(), cpu.str(), features.str()}];
  if (!known.empty())
    return known;
  std::unique_ptr<MCSubtargetInfo> chip(back_end(triple)->createMCSubtargetInfo(triple, cpu, ""));
  std::map<StringRef, unsigned> numbers;
  for (const SubtargetFeatureKV &feature : chip->getAllProcessorFeatures())
    numbers[feature.key()] = feature.Value;
  const FeatureBitset own = chip->getFeatureBits();
  // Applies flags to the CPU's own bits, in `chip`; returns those that change a bit.
  auto apply = [&](ArrayRef<StringRef> flags) {
    chip->setFeatureBits(own);
    SmallVector<StringRef> changing;
    for (StringRef flag : flags) {
      auto number = numbers.find(flag.drop_front());
      bool is_known = number != numbers.end();
      if (is_known && chip->getFeatureBits().test(number->second) == flag.starts_with("+"))
        continue;
      changing.push_back(flag);
      if (is_known)
        chip->ApplyFeatureFlag(flag);
    }
    return changing;
  };
  SmallVector<StringRef> all(split(features, ',')), kept = apply(all);
  const FeatureBitset wanted = chip->getFeatureBits();
  for (size_t i = 0; i < kept.size();) { // a flag may be needless because of a later one
    SmallVector<StringRef> others = kept;
    others.erase(others.begin() + i);
    others = apply(others);
    if (chip->getFeatureBits() == wanted && numbers.count(kept[i].drop_front()))
      kept = std::move(others);
    else
      ++i;
  }
  return known = kept.empty() ? all.front().str() : join(kept, ","); // without any, LLVM would take others
}

} // namespace

void shorten_features(llvm::Module &module) {
  const Triple &triple = module.getTargetTriple();
  if (!(triple.isARM() || triple.isThumb() || triple.isRISCV()) || !back_end(triple))
    return;
  for (Function &function : module) {
    StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
    StringRef features = function.getFnAttribute("target-features").getValueAsString();
    if (!cpu.empty() && !features.empty() && !function.hasFnAttribute("tune-cpu"))
      function.addFnAttr("target-features", changing_features(module, cpu, features));
  }
}

TargetMachine *Module::find_target(const std::string &cpu) const {
  if (!back_end(ir_->getTargetTriple()))
    return nullptr;
  if (!target_ || target_cpu_ != cpu) {
    target_ = make_target(cpu, {});
    target_cpu_ = cpu;
  }
  return target_.get();
}

std::unique_ptr<TargetMachine> Module::make_target(const std::string &cpu, TargetOptions options) const {
  const Triple &triple = ir_->getTargetTriple();
  const Target *target = back_end(triple);
  if (!target)
    throw PipelineError("made for '" + triple.str() + "', and this build of burnish makes machine code for " + names() +
                        "; the objective ir-instructions needs none");
  // As clang: the front end stores position independence as a flag of the module.
  auto relocation = ir_->getPICLevel() == PICLevel::NotPIC ? Reloc::Static : Reloc::PIC_;
  options.MCOptions.X86RelaxRelocations = true;
  options.UseInitArray = true;
  options.EmulatedTLS = triple.hasDefaultEmulatedTLS(); // MinGW
  if (const auto *abi = dyn_cast_or_null<MDString>(ir_->getModuleFlag("target-abi")))
    options.MCOptions.ABIName = abi->getString().str();
  bool is_gnu = ir_->getModuleFlag(GNU_EABI);
  if (is_gnu)
    options.EABIVersion = EABI::GNU;
  if (triple.isWasm()) // as clang, without -pthread
    options.ThreadModel = ThreadModel::Single;
  // On x86, each function has its own features. Elsewhere those of the object are the machine's: its attributes, its
  // flags, and whether code is compressed.
  std::string chip = cpu, features;
  if (triple.isX86())
    chip = cpu.empty() ? "x86-64" : cpu;
  else {
    chip = cpu.empty() ? of_functions(*ir_, "target-cpu").str() : cpu;
    features = of_functions(*ir_, "target-features").str();
  }
  std::unique_ptr<TargetMachine> made(
      target->createTargetMachine(triple, chip, features, options, relocation, ir_->getCodeModel()));
  if (!made || (!chip.empty() && !made->getMCSubtargetInfo().isCPUStringValid(chip)))
    throw PipelineError("unknown CPU '" + chip + "' for " + triple.str());
  auto unwinds = [](const Function &function) {
    return !function.isDeclaration() && (function.needsUnwindTableEntry() || function.hasPersonalityFn());
  };
  if (is_gnu && made->getMCAsmInfo().getExceptionHandlingType() == ExceptionHandling::ARM && none_of(*ir_, unwinds))
    const_cast<MCAsmInfo &>(made->getMCAsmInfo()).setExceptionsType(ExceptionHandling::None); // no .ARM.exidx
  if (auto threshold = ir_->getLargeDataThreshold())
    made->setLargeDataThreshold(*threshold);
  return made;
}

void initialize_target() {
  static std::once_flag once;
  std::call_once(once, [] {
#define EACH(NAME)                                                                                                     \
  LLVMInitialize##NAME##TargetInfo();                                                                                  \
  LLVMInitialize##NAME##Target();                                                                                      \
  LLVMInitialize##NAME##TargetMC();                                                                                    \
  LLVMInitialize##NAME##AsmPrinter();                                                                                  \
  LLVMInitialize##NAME##AsmParser();
    BURNISH_EACH_TARGET
#undef EACH
    // Inline assembly as with -Wa,-mimplicit-it=always, which U-Boot and Linux give. It takes all that the default
    // takes.
    auto implicit = cl::getRegisteredOptions().find("arm-implicit-it");
    if (implicit != cl::getRegisteredOptions().end())
      implicit->second->addOccurrence(0, "arm-implicit-it", "always");
  });
}

} // namespace burnish
