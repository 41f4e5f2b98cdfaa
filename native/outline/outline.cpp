#include "outline.h"

#include "rewrite.h"
#include "savings.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/SuffixTree.h"

#include <queue>

using namespace llvm;

namespace burnish {
namespace outlining {
namespace {

constexpr unsigned LONGEST = 256; // instructions of a region
constexpr size_t WORK = 256;      // limit per instruction of the module, so that time stays linear

class Outliner {
public:
  Outliner(llvm::Module &module, ModuleAnalysisManager &analyses, const Outline::Options &options)
      : module(module), text(module, analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager()),
        savings(module, analyses, options, text) {}

  // Outlines the region that saves most first.
  bool run() {
    find();
    bool changed = false;
    while (!queue.empty()) {
      Region region = queue.top();
      queue.pop();
      int before = region.saved;
      auto plan = savings.evaluate(region);
      if (!plan)
        continue;
      if (region.saved < before) { // other regions took some of its places
        queue.push(std::move(region));
        continue;
      }
      Function *function = make_function(module, text, region, *plan);
      for (unsigned start : region.starts) {
        savings.spend(start, *plan);
        bool tail = !savings.liveness(*text.at(start).getFunction()).memory;
        replace(text, start, region.length, *plan, function, tail);
      }
      changed = true;
    }
    return changed;
  }

private:
  llvm::Module &module;
  Text text;
  Savings savings;
  std::priority_queue<Region> queue;

  void find() {
    if (text.letters.size() < 2)
      return;
    size_t work = WORK * text.letters.size();
    SuffixTree tree(text.letters, /*OutlinerLeafDescendants=*/true);
    for (auto &repeated : tree) {
      std::map<unsigned, std::vector<unsigned>> by_length;
      for (unsigned start : repeated.StartIndices)
        if (unsigned length = closed_length(text, start, std::min(repeated.Length, LONGEST)); length > 1)
          by_length[length].push_back(start);
      for (auto &[length, starts] : by_length) {
        size_t cost = size_t(length) * starts.size();
        if (cost > work)
          return;
        work -= cost;
        llvm::erase_if(starts, [&](unsigned start) { return savings.is_hot(*text.at(start).getParent()); });
        llvm::sort(starts);
        for (auto &[flow, same] : by_flow(text, starts, length)) {
          Region region{length, std::move(same)};
          if (savings.evaluate(region))
            queue.push(std::move(region));
        }
      }
    }
  }
};

} // namespace
} // namespace outlining

PreservedAnalyses Outline::run(llvm::Module &module, ModuleAnalysisManager &analyses) {
  bool changed = outlining::Outliner(module, analyses, options).run();
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace burnish
