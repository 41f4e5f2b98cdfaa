#include "module.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/AutoUpgrade.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/StructuralHash.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/ExtractGV.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <atomic>

using namespace llvm;

namespace burnish {
namespace {

std::atomic<uint64_t> warnings = 0;

// Warnings are counted and remarks dropped; an error (say, of inline assembly at emission) is raised.
struct RaiseErrors : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &info) override {
    warnings += info.getSeverity() == DS_Warning;
    if (info.getSeverity() != DS_Error)
      return true;
    std::string text;
    raw_string_ostream stream(text);
    DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    throw FatalError(text);
  }
};

std::unique_ptr<LLVMContext> make_context() {
  auto context = std::make_unique<LLVMContext>();
  context->setDiagnosticHandler(std::make_unique<RaiseErrors>());
  return context;
}

std::string first_line(std::string text) {
  StringRef line = StringRef(text).trim().split('\n').first;
  return line.str();
}

// Bitcode of LLVM 23 has GUIDs of declarations, for ThinLTO and profiles. A module that was read keeps them by
// address and never removes one. So a declaration that a pass creates at the address of a deleted one gets its GUID,
// by chance, and the bitcode differs. The map is private; only an explicit instantiation may name it.
using Guids = DenseMap<const Value *, GlobalValue::GUID> llvm::Module::*;
Guids guids_of_module();
template <Guids member> struct Reach {
  friend Guids guids_of_module() { return member; }
};
template struct Reach<&llvm::Module::ValueToGUIDMap>;

std::unique_ptr<llvm::Module> read_bitcode(StringRef bytes, const std::string &name, LLVMContext &context) {
  auto module = parseBitcodeFile(MemoryBufferRef(bytes, name), context);
  if (!module)
    throw InputError(first_line(toString(module.takeError())));
  (module->get()->*guids_of_module()).clear(); // the writer computes those of declarations again
  return std::move(*module);
}

std::unique_ptr<llvm::Module> read_text(StringRef bytes, const std::string &name, LLVMContext &context) {
  SMDiagnostic diagnostic;
  auto buffer = MemoryBuffer::getMemBufferCopy(bytes, name);
  // Upgrade the data layout of earlier versions of LLVM, as the reader of bitcode does.
  const auto upgrade = [](StringRef triple, StringRef layout) -> std::optional<std::string> {
    const std::string upgraded = UpgradeDataLayoutString(layout, triple);
    if (layout.empty() || upgraded == layout)
      return std::nullopt; // the parser then names the line of a layout that is wrong
    return upgraded;
  };
  auto module = parseIR(*buffer, diagnostic, context, ParserCallbacks(upgrade));
  if (!module)
    throw InputError("line " + std::to_string(diagnostic.getLineNo()) + ": " + diagnostic.getMessage().str());
  return module;
}

// Clang names no local values. The order in which bitcode lists names changes with each reading and writing.
void drop_local_names(llvm::Module &module) {
  for (Function &function : module) {
    for (Argument &argument : function.args())
      argument.setName("");
    for (BasicBlock &block : function) {
      block.setName("");
      for (Instruction &instruction : block)
        instruction.setName("");
    }
  }
}

} // namespace

Module::Module(std::unique_ptr<LLVMContext> context, std::unique_ptr<llvm::Module> ir)
    : context_(std::move(context)), ir_(std::move(ir)) {}

Module::Module(std::string_view bytes, const std::string &name) : context_(make_context()) {
  StringRef content(bytes.data(), bytes.size());
  if (content.empty())
    throw InputError("empty input");
  const auto *begin = content.bytes_begin();
  if (isBitcode(begin, content.bytes_end()))
    ir_ = read_bitcode(content, name, *context_);
  else if (content.contains('\0'))
    throw InputError("neither LLVM bitcode nor textual LLVM IR");
  else
    ir_ = read_text(content, name, *context_);
  context_->setDiscardValueNames(true); // as clang: passes need not name new values
  drop_local_names(*ir_);
  if (ir_->getTargetTriple().empty())
    ir_->setTargetTriple(Triple(sys::getDefaultTargetTriple()));
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(*ir_, &stream))
    throw InputError("invalid module: " + first_line(problem));
  shorten_features(*ir_);
  const TargetMachine *target = find_target();
  if (ir_->getDataLayoutStr().empty())
    ir_->setDataLayout(target ? target->createDataLayout() : DataLayout(ir_->getTargetTriple().computeDataLayout()));
  else if (target && !target->isCompatibleDataLayout(ir_->getDataLayout()))
    throw InputError("data layout '" + ir_->getDataLayoutStr() + "' does not fit the target");
}

Module::~Module() = default;

const std::string &Module::bitcode() const {
  if (!bitcode_.empty())
    return bitcode_;
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  WriteBitcodeToFile(*ir_, stream, /*ShouldPreserveUseListOrder=*/true);
  bitcode_.assign(bytes.data(), bytes.size());
  return bitcode_;
}

std::string Module::print() const {
  std::string text;
  raw_string_ostream stream(text);
  ir_->print(stream, nullptr);
  return text;
}

std::string Module::digest() const {
  auto hash = BLAKE3::hash<16>(arrayRefFromStringRef(bitcode()));
  return toHex(ArrayRef<uint8_t>(hash), /*LowerCase=*/true);
}

uint64_t Module::structural_hash() const { return StructuralHash(*ir_, /*DetailedHash=*/true); }

std::vector<std::pair<std::string, uint64_t>> Module::structural_hashes() const {
  std::vector<std::pair<std::string, uint64_t>> hashes;
  for (const Function &function : *ir_)
    if (!function.isDeclaration())
      hashes.emplace_back(function.getName().str(), StructuralHash(function, /*DetailedHash=*/true));
  return hashes;
}

void Module::verify() const {
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(*ir_, &stream))
    throw FatalError("the verifier rejects the module: " + first_line(problem));
}

std::unique_ptr<Module> Module::clone() const {
  auto context = make_context();
  try {
    auto ir = read_bitcode(bitcode(), ir_->getModuleIdentifier(), *context);
    context->setDiscardValueNames(true);
    return std::make_unique<Module>(std::move(context), std::move(ir));
  } catch (const InputError &error) { // not a user's input: this process wrote it
    throw FatalError(std::string("a pass broke the module: its bitcode cannot be read: ") + error.what());
  }
}

const llvm::Module &Module::without_debug_info() const {
  if (ir_->debug_compile_units().empty())
    return *ir_;
  if (!stripped_) {
    stripped_ = clone();
    StripDebugInfo(*stripped_->ir_);
  }
  return *stripped_->ir_;
}

std::unique_ptr<Module> Module::extract(const std::string &function) const {
  auto part = clone();
  auto *body = part->ir_->getFunction(function);
  if (!body || body->isDeclaration())
    throw PipelineError("no function '" + function + "' with a body");
  std::vector<GlobalValue *> keep{body};
  ModuleAnalysisManager analyses;
  analyses.registerPass([] { return PassInstrumentationAnalysis(); });
  ExtractGVPass(keep, /*deleteS=*/false, /*keepConstInit=*/true).run(*part->ir_, analyses);
  part->verify();
  return part;
}

std::unique_ptr<Module> Module::link(const std::vector<const Module *> &parts, bool internalize) {
  if (parts.empty())
    throw InputError("nothing to link");
  auto context = make_context();
  auto whole = std::make_unique<llvm::Module>("linked", *context);
  Linker linker(*whole);
  for (const Module *part : parts) {
    auto copy = read_bitcode(part->bitcode(), part->ir_->getModuleIdentifier(), *context);
    if (whole->getTargetTriple().empty()) {
      whole->setTargetTriple(copy->getTargetTriple());
      whole->setDataLayout(copy->getDataLayout());
    }
    try { // the linker reports errors, such as a symbol defined twice, as diagnostics
      if (linker.linkInModule(std::move(copy)))
        throw InputError("cannot link '" + part->ir_->getModuleIdentifier() + "'");
    } catch (const FatalError &error) {
      throw InputError("cannot link '" + part->ir_->getModuleIdentifier() + "': " + error.what());
    }
  }
  if (internalize && whole->getFunction("main"))
    internalizeModule(*whole, [](const GlobalValue &value) { return value.getName() == "main"; });
  context->setDiscardValueNames(true);
  auto result = std::make_unique<Module>(std::move(context), std::move(whole));
  result->verify();
  return result;
}

void Module::number_on() {
  for (const GlobalValue &value : ir_->global_values()) {
    uint32_t number = 0;
    if (!value.getName().rsplit('.').second.getAsInteger(10, number))
      last_number = std::max(last_number, number);
  }
}

std::vector<std::string> Module::functions() const {
  std::vector<std::string> names;
  for (const Function &function : *ir_)
    if (!function.isDeclaration())
      names.push_back(function.getName().str());
  return names;
}

std::vector<std::string> Module::linkonce_functions() const {
  std::vector<std::string> names;
  for (const Function &function : *ir_)
    if (!function.isDeclaration() && function.hasLinkOnceLinkage())
      names.push_back(function.getName().str());
  return names;
}

bool Module::has_function(const std::string &name) const {
  const Function *function = ir_->getFunction(name);
  return function && !function->isDeclaration();
}

bool Module::position_independent() const { return ir_->getPICLevel() != PICLevel::NotPIC; }

std::string Module::triple() const { return ir_->getTargetTriple().str(); }

std::string llvm_version() { return LLVM_VERSION_STRING; }

uint64_t warnings_so_far() { return warnings; }

void install_fatal_error_handler() {
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { throw FatalError(std::string("LLVM: ") + reason); }, nullptr);
}

} // namespace burnish
