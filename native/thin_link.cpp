#include "thin_link.h"

#include "lto_link.h"

#include "llvm/Analysis/ModuleSummaryAnalysis.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Transforms/Utils/AssignGUID.h"
#include "llvm/Transforms/Utils/NameAnonGlobals.h"

#include <map>

using namespace llvm;

namespace burnish {
namespace {

using Inputs = std::vector<std::unique_ptr<lto::InputFile>>;

std::string written(const llvm::Module &module, const ModuleSummaryIndex *index) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true, index, /*GenerateHash=*/index != nullptr);
  return {bytes.data(), bytes.size()};
}

// The module's bitcode with its summary, as clang -flto=thin writes it.
std::string with_summary(const Module &part) {
  auto copy = part.clone();
  llvm::Module &ir = copy->ir();
  ModuleAnalysisManager analyses;
  NameAnonGlobalPass().run(ir, analyses);
  AssignGUIDPass().run(ir, analyses);
  if (ir.getModuleFlag("ThinLTO")) // of -flto: its summary would be for regular LTO
    ir.setModuleFlag(llvm::Module::Error, "ThinLTO", uint32_t(1));
  ProfileSummaryInfo profile(ir);
  auto index = buildModuleSummaryIndex(ir, [](const Function &) { return nullptr; }, &profile);
  return written(ir, &index);
}

// The number of the module whose definition of a symbol a linker takes: the strong one, or else the first.
std::map<StringRef, size_t> prevailing(const Inputs &inputs) {
  std::map<StringRef, size_t> chosen, strong;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (const auto &symbol : inputs[i]->symbols()) {
      if (symbol.isUndefined())
        continue;
      if (!symbol.isWeak() && !symbol.isCommon()) {
        if (auto [at, is_new] = strong.emplace(symbol.getName(), i); !is_new && at->second != i)
          throw InputError(("two modules define '" + symbol.getName() + "'").str());
        chosen[symbol.getName()] = i;
      }
      chosen.emplace(symbol.getName(), i);
    }
  return chosen;
}

} // namespace

std::vector<std::string> thin_link(const std::vector<const Module *> &parts) {
  std::vector<std::string> files, names, imported(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]->find_target())
      throw InputError("no back end for " + parts[i]->triple());
    files.push_back(with_summary(*parts[i]));
    names.push_back(std::to_string(i));
  }
  LtoLink lto_link("cannot link by ThinLTO");
  Inputs inputs;
  for (size_t i = 0; i < parts.size(); ++i)
    inputs.push_back(lto_link.taken(lto::InputFile::create(MemoryBufferRef(files[i], names[i]))));
  auto chosen = prevailing(inputs);
  bool is_program = chosen.count("main");
  lto::Config config;
  config.PostImportModuleHook = [&](unsigned, const llvm::Module &module) {
    imported[std::stoul(module.getModuleIdentifier())] = written(module, nullptr);
    return false; // neither passes nor code
  };
  lto_link.listen(config);
  lto::LTO link(std::move(config), lto::createInProcessThinBackend(hardware_concurrency(1)));
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<lto::SymbolResolution> resolutions;
    for (const auto &symbol : inputs[i]->symbols()) {
      auto definition = chosen.find(symbol.getName());
      bool is_defined = definition != chosen.end();
      lto::SymbolResolution resolution;
      resolution.Prevailing = !symbol.isUndefined() && definition->second == i;
      resolution.FinalDefinitionInLinkageUnit = is_program && is_defined;
      resolution.VisibleToRegularObj = !is_program || symbol.getName() == "main";
      resolutions.push_back(resolution);
    }
    lto_link.check(link.add(std::move(inputs[i]), resolutions));
  }
  lto_link.run(link);
  return imported;
}

} // namespace burnish
