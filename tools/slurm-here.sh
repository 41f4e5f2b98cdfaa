#!/usr/bin/env bash
# usage: [NODES=1] tools/slurm-here.sh start|stop
#
# Start or stop a SLURM on this machine, to try what docs/cluster.md says of clusters. It has NODES nodes, which share
# the machine's cores. It needs root, and the packages slurm-wlm and munge of Debian and Ubuntu; "start" writes
# /etc/slurm/slurm.conf unless SLURM is configured.
set -euo pipefail

mark="# Written by burnish: tools/slurm-here.sh"
folder=/var/lib/burnish-slurm
config=/etc/slurm/slurm.conf
nodes=${NODES:-1}
port=17000 # of the first node

configure() {
    local cores=$(($(nproc) / nodes)) memory
    memory=$(free -m | awk -v nodes="$nodes" '/^Mem:/ { print int($2 / nodes) }')
    cat >$config <<EOF
$mark
ClusterName=burnish
SlurmctldHost=$1
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=node[1-$nodes] NodeHostname=$1 Port=$port-$((port + nodes - 1)) CPUs=$cores RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
}

start() {
    if ! command -v slurmctld munged >/dev/null; then
        echo "SLURM is not installed: apt-get install slurm-wlm munge" >&2
        exit 1
    fi
    if sinfo >/dev/null 2>&1; then
        echo "SLURM runs already"
        return
    fi
    if [ -s $config ] && ! grep -qF "$mark" $config; then
        echo "$config is not of burnish; start that SLURM instead" >&2
        exit 1
    fi
    if [ "$nodes" -gt "$(nproc)" ]; then
        echo "NODES=$nodes, but this machine has $(nproc) cores" >&2
        exit 1
    fi
    host=$(hostname -s)
    mkdir -p $folder/state /run/munge
    configure "$host"
    for name in "$host" $(seq --format=node%g "$nodes"); do
        grep -qw "$name" /etc/hosts || echo "127.0.0.1 $name" >>/etc/hosts
    done
    [ -s /etc/munge/munge.key ] || head -c 1024 /dev/urandom >/etc/munge/munge.key
    chown munge:munge /etc/munge /etc/munge/munge.key /run/munge
    chmod 400 /etc/munge/munge.key
    pgrep -x munged >/dev/null || munged --force 2>/dev/null
    slurmctld -c # without the state of an earlier one, which may have had other nodes
    for number in $(seq "$nodes"); do slurmd -N "node$number"; done
    for _ in $(seq 30); do
        if [ "$(sinfo --noheader --Node --states=idle | wc -l)" = "$nodes" ]; then break; fi
        sleep 1
    done
    timeout 60 srun --quiet --nodes="$nodes" true # a job runs on all nodes, or this fails
    sinfo
}

stop() {
    for pid in $folder/*.pid; do
        [ ! -e "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true
    done
}

case ${1:-} in
start | stop) "$1" ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
