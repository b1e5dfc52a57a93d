#!/bin/sh
# A SLURM array of eight jobs, each of which runs every eighth cell, on a folder that all see:
#   sbatch --array=1-8 slurm.sh campaign.toml results
# Afterwards, anywhere: groupkey campaign merge campaign.toml --out results
# Or as a job that waits for them:
#   sbatch --dependency=afterok:JOB --wrap 'groupkey campaign merge campaign.toml --out results'
#SBATCH --cpus-per-task=4
set -eu
groupkey campaign run "$1" --out "$2" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --threads "${SLURM_CPUS_PER_TASK:-1}"
