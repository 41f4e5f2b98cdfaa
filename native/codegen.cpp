#include "codegen.h"

#include "library_calls.h"
#include "llvm_options.h"
#include "objects.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <optional>
#include <shared_mutex>
#include <string>

using namespace llvm;

namespace burnish {
namespace {

CodeGenOptLevel codegen_level(StringRef level) {
  if (level == "O0")
    return CodeGenOptLevel::None;
  if (level == "O1")
    return CodeGenOptLevel::Less;
  if (level == "O2" || level == "Os" || level == "Oz")
    return CodeGenOptLevel::Default;
  if (level == "O3")
    return CodeGenOptLevel::Aggressive;
  throw PipelineError("unknown level '" + level.str() + "': expected O0, O1, O2, O3, Os or Oz");
}

DebuggerKind debugger_kind(StringRef name) {
  if (name.empty())
    return DebuggerKind::Default;
  if (name == "gdb")
    return DebuggerKind::GDB;
  if (name == "lldb")
    return DebuggerKind::LLDB;
  if (name == "sce")
    return DebuggerKind::SCE;
  if (name == "dbx")
    return DebuggerKind::DBX;
  throw PipelineError("unknown debugger '" + name.str() + "': expected gdb, lldb, sce, dbx or nothing");
}

TargetOptions target_options(const BackEnd &back_end, const Triple &triple) {
  TargetOptions options;
  options.FunctionSections = back_end.function_sections;
  options.DataSections = back_end.data_sections;
  options.UniqueSectionNames = back_end.unique_section_names;
  options.NoZerosInBSS = !back_end.zeros_in_bss;
  options.EmitAddrsig = back_end.address_significance && (triple.isOSBinFormatELF() || triple.isOSBinFormatCOFF());
  options.EmitCallSiteInfo = back_end.call_site_info;
  options.MCOptions.AsmVerbose = back_end.assembly; // comments name the functions, on every target
  options.DebuggerTuning = debugger_kind(back_end.debugger);
  return options;
}

std::string temporary_file() {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("burnish", "su", path))
    throw FatalError("cannot make a temporary file: " + error.message());
  return path.str().str();
}

std::string content_of(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    throw FatalError(path + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace

std::string emit_object(const Module &module, const BackEnd &back_end, CodegenHook *hook) {
  std::shared_lock<std::shared_mutex> together(llvm_options_mutex(), std::defer_lock);
  if (!hook)
    together.lock();
  auto copy = module.clone(); // code generation changes the IR
  auto options = target_options(back_end, copy->ir().getTargetTriple());
  std::optional<FileRemover> remover;
  if (back_end.stack_usage && !back_end.assembly && copy->ir().getTargetTriple().isOSBinFormatELF()) {
    remover.emplace(options.StackUsageFile = temporary_file());
    copy->ir().setModuleIdentifier(""); // the beginning of lines without debug information
  }
  auto target = copy->make_target(back_end.cpu, options);
  target->setOptLevel(codegen_level(back_end.level));
  avoid_library_calls(copy->ir(), *target);
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  {
    legacy::PassManager passes;
    passes.add(createTargetTransformInfoWrapperPass(target->getTargetIRAnalysis()));
    passes.add(new TargetLibraryInfoWrapperPass(copy->ir().getTargetTriple()));
    legacy::PassManagerBase &adding = hook ? hook->begin(copy->ir(), *target, passes) : passes;
    CodeGenFileType kind = back_end.assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
    if (target->addPassesToEmitFile(adding, stream, nullptr, kind, /*DisableVerify=*/true))
      throw FatalError(back_end.assembly ? "the target cannot emit assembly" : "the target cannot emit object files");
    passes.run(copy->ir());
  } // the passes' end closes the file of stack usage
  std::string object(bytes.data(), bytes.size());
  return remover ? with_section(object, STACK_USAGE, content_of(options.StackUsageFile)) : object;
}

} // namespace burnish
