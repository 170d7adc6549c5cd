#!/usr/bin/env bash
#SBATCH --job-name=doxlab
#SBATCH --array=0-7
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=3
#SBATCH --exclusive
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
#
# One part of a sweep in each task of a job array. What follows the script's name goes to doxlab sweep:
#
#   sbatch deploy/slurm-array.sh --grid delay=5,20,100 --grid loss=0,1,2,5 -n 3000
#   doxlab merge sweep.ndjson part-*.ndjson
#
# A task that ran out of time or whose node failed goes on with its file when it is submitted again:
#
#   PARTS=8 sbatch --array=2,5 deploy/slurm-array.sh --grid delay=5,20,100 --grid loss=0,1,2,5 -n 3000
#
# environment:
#   DOXLAB   the program (default: build/release/apps/doxlab/doxlab in the folder that the job is submitted from)
#   OUT      folder of the parts, seen by all nodes (default: the folder that the job is submitted from)
#   PARTS    number of parts (default: one for each task, if the array counts from 0 without a gap)
set -euo pipefail

fail() { printf 'slurm-array: %s\n' "$*" >&2; exit 1; }

here=${SLURM_SUBMIT_DIR:-$PWD}
doxlab=${DOXLAB:-$here/build/release/apps/doxlab/doxlab}
index=${SLURM_ARRAY_TASK_ID:?no task of a job array; submit it with sbatch}

if [ -z "${PARTS:-}" ]; then
  PARTS=${SLURM_ARRAY_TASK_COUNT:?}
  if [ "${SLURM_ARRAY_TASK_MIN:?}" != 0 ] || [ "${SLURM_ARRAY_TASK_MAX:?}" != $((PARTS - 1)) ]; then
    fail "the array does not count from 0 without a gap; say how many parts there are: PARTS=8 sbatch ..."
  fi
fi
[ -x "$doxlab" ] || fail "$doxlab is no program; build it with ./run --version, or set DOXLAB"

# It takes the place of this shell, so that Slurm's signal before the end of the time reaches it: then it stops after the
# last whole cell.
exec "$doxlab" sweep "$@" --shard "$index/$PARTS" --out "${OUT:-$here}/part-$index.ndjson"
