#include "units.h"

#include "lto_link.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/RuntimeLibcalls.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr char FAILED[] = "the units cannot be one module";

// As in plugin-api.h: ld_plugin_symbol_kind, ld_plugin_symbol_visibility, ld_plugin_symbol_resolution.
enum Kind { DEF, WEAKDEF, UNDEF, WEAKUNDEF, COMMON };
enum Visibility { DEFAULT = 0, PROTECTED = 1, HIDDEN = 3 };
enum Resolution { PREVAILING_DEF = 2, PREVAILING_DEF_IRONLY = 3, PREVAILING_DEF_IRONLY_EXP = 9 };

int kind_of(const lto::InputFile::Symbol &symbol) {
  if (symbol.isUndefined())
    return symbol.isWeak() ? WEAKUNDEF : UNDEF;
  if (symbol.isCommon())
    return COMMON;
  return symbol.isWeak() ? WEAKDEF : DEF;
}

int visibility_of(const lto::InputFile::Symbol &symbol) {
  switch (symbol.getVisibility()) {
  case GlobalValue::DefaultVisibility: return DEFAULT;
  case GlobalValue::HiddenVisibility: return HIDDEN;
  case GlobalValue::ProtectedVisibility: return PROTECTED;
  }
  return DEFAULT;
}

} // namespace

std::vector<UnitSymbol> unit_symbols(const std::string &bitcode) {
  LtoLink lto_link(FAILED);
  auto input = lto_link.taken(lto::InputFile::create(MemoryBufferRef(bitcode, "unit")));
  std::vector<UnitSymbol> symbols;
  for (const auto &symbol : input->symbols()) {
    auto group = symbol.getComdatIndex();
    symbols.push_back({symbol.getName().str(), kind_of(symbol), visibility_of(symbol),
                       symbol.isCommon() ? symbol.getCommonSize() : 0,
                       group == -1 ? "" : input->getComdatTable()[group].first.str()});
  }
  return symbols;
}

std::string merge_units(const std::vector<std::string> &units, const std::vector<std::vector<int>> &resolutions) {
  LtoLink lto_link(FAILED);
  std::string merged;
  lto::Config config;
  config.PostInternalizeModuleHook = [&](unsigned, const llvm::Module &module) {
    raw_string_ostream stream(merged);
    WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
    return false; // neither passes nor code
  };
  lto_link.listen(config);
  lto::LTO link(std::move(config));
  for (size_t i = 0; i < units.size(); ++i) {
    auto input = lto_link.taken(lto::InputFile::create(MemoryBufferRef(units[i], "unit-" + std::to_string(i))));
    Triple triple(input->getTargetTriple());
    TargetLibraryInfoImpl libraries(triple);
    TargetLibraryInfo library(libraries);
    RTLIB::RuntimeLibcallsInfo calls(triple);
    if (input->symbols().size() != resolutions[i].size())
      lto_link.fail("the linker has other symbols");
    std::vector<lto::SymbolResolution> told;
    for (size_t j = 0; j < resolutions[i].size(); ++j) {
      const auto &symbol = input->symbols()[j];
      auto answer = resolutions[i][j];
      lto::SymbolResolution resolution;
      bool prevails =
          answer == PREVAILING_DEF || answer == PREVAILING_DEF_IRONLY || answer == PREVAILING_DEF_IRONLY_EXP;
      resolution.Prevailing = prevails && !symbol.isUndefined();
      resolution.VisibleToRegularObj = answer == PREVAILING_DEF ||
                                       (answer == PREVAILING_DEF_IRONLY_EXP && !symbol.canBeOmittedFromSymbolTable()) ||
                                       !symbol.getSectionName().empty() || symbol.isLibcall(library, calls);
      resolution.FinalDefinitionInLinkageUnit = resolution.Prevailing;
      told.push_back(resolution);
    }
    lto_link.check(link.add(std::move(input), told));
  }
  lto_link.run(link);
  if (merged.empty())
    lto_link.fail("nothing of them is linked");
  return merged;
}

} // namespace burnish
