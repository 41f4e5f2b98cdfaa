#!/usr/bin/env bash
# usage: tools/slurm-one-node.sh start|stop
#
# Start or stop a SLURM of one node, this machine, to try what docs/cluster.md says of clusters. It needs root, and the
# packages slurm-wlm and munge of Debian and Ubuntu; "start" writes /etc/slurm/slurm.conf unless SLURM is configured.
set -euo pipefail

mark="# Written by burnish: tools/slurm-one-node.sh"
folder=/var/lib/burnish-slurm
config=/etc/slurm/slurm.conf

configure() {
    cat >$config <<EOF
$mark
ClusterName=burnish
SlurmctldHost=$1
SlurmUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=$1 CPUs=$(nproc) RealMemory=$(free -m | awk '/^Mem:/ { print $2 }') State=UNKNOWN
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
    node=$(hostname -s)
    mkdir -p $folder/state $folder/spool /run/munge
    configure "$node"
    grep -qw "$node" /etc/hosts || echo "127.0.0.1 $node" >>/etc/hosts
    [ -s /etc/munge/munge.key ] || head -c 1024 /dev/urandom >/etc/munge/munge.key
    chown munge:munge /etc/munge /etc/munge/munge.key /run/munge
    chmod 400 /etc/munge/munge.key
    pgrep -x munged >/dev/null || munged --force 2>/dev/null
    slurmctld
    slurmd
    for _ in $(seq 30); do
        if sinfo --noheader --format=%t | grep -q idle; then break; fi
        sleep 1
    done
    timeout 60 srun --quiet true # a job runs, or this fails
    sinfo
}

stop() {
    for daemon in slurmd slurmctld; do
        [ ! -e $folder/$daemon.pid ] || kill "$(cat $folder/$daemon.pid)" 2>/dev/null || true
    done
}

case ${1:-} in
start | stop) "$1" ;;
*)
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
