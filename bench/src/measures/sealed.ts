import { randomBytes } from 'node:crypto';
import { compareWays } from '../compare-ways.js';
import { drainRound } from '../drain-round.js';
import type { Measure } from '../measure.js';
import { scheduleRound } from '../schedule-round.js';
import { connectNestDq, nestDq } from '../systems/nest-dq.js';
import type { Product } from '../systems/system.js';

const seal = { keys: { '2026-11': randomBytes(32) }, current: '2026-11' };

const sealedNestDq: Product = {
  ...nestDq,
  connect: ({ beanstalks, redis }) => connectNestDq({ beanstalks: [...beanstalks], redis, seal }),
};

export const sealed: Measure = {
  name: 'sealed',
  title: 'nest-dq with jobs that are sealed and encrypted, and without a seal',
  run: async ({ rounds, pick }) => {
    const ways = { rounds, ours: sealedNestDq, beside: nestDq, besideName: 'without', least: 0.85 };
    return [
      await compareWays(ways, 'schedule, 3 copies', pick(60_000, 5_000), scheduleRound),
      await compareWays(ways, 'drain, 3 copies', pick(20_000, 4_000), drainRound),
    ];
  },
};
