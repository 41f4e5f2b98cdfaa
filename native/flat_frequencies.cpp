#include "flat_frequencies.h"

#include "llvm/Analysis/BlockFrequencyInfoImpl.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"

using namespace llvm;

namespace burnish {
namespace {

using Frequencies = BlockFrequencyInfoImpl<MachineBasicBlock>;

// MachineBlockFrequencyInfo has no way to set a frequency. The arguments of an explicit instantiation may name private
// members (C++, temp.explicit), so this one opens the implementation, which has one.
std::unique_ptr<Frequencies> &implementation(MachineBlockFrequencyInfo &info);

template <std::unique_ptr<Frequencies> MachineBlockFrequencyInfo::*member> struct Opened {
  friend std::unique_ptr<Frequencies> &implementation(MachineBlockFrequencyInfo &info) { return info.*member; }
};
template struct Opened<&MachineBlockFrequencyInfo::MBFI>;

struct OfFrequencies : MachineFunctionPass {
  using MachineFunctionPass::MachineFunctionPass;

  Frequencies &frequencies() { return *implementation(getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI()); }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
};

} // namespace

struct FlatFrequencies::Flattening final : OfFrequencies {
  static char ID;
  explicit Flattening(FlatFrequencies &flat) : OfFrequencies(ID), flat(flat) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    if (!flat.before.empty() || !flat.wanted(function.getName()))
      return false;
    Frequencies &now = frequencies();
    flat.before.resize(function.getNumBlockIDs());
    for (const MachineBasicBlock &block : function)
      flat.before[block.getNumber()] = now.getBlockFreq(&block);
    BlockFrequency once = now.getEntryFreq();
    for (const MachineBasicBlock &block : function)
      now.setBlockFreq(&block, once);
    return false;
  }

  FlatFrequencies &flat;
};
char FlatFrequencies::Flattening::ID;

struct FlatFrequencies::Restoring final : OfFrequencies {
  static char ID;
  explicit Restoring(FlatFrequencies &flat) : OfFrequencies(ID), flat(flat) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    if (flat.before.empty())
      return false;
    Frequencies &now = frequencies();
    for (const MachineBasicBlock &block : function)
      now.setBlockFreq(&block, flat.before[block.getNumber()]);
    flat.before.clear();
    return false;
  }

  FlatFrequencies &flat;
};
char FlatFrequencies::Restoring::ID;

Pass *FlatFrequencies::create_flattening_pass() { return new Flattening(*this); }
Pass *FlatFrequencies::create_restoring_pass() { return new Restoring(*this); }

} // namespace burnish
