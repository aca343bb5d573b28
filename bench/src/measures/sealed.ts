import { randomBytes } from 'node:crypto';
import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Row } from '../measure.js';
import { alternate } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import { connectNestDq, nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product, type System } from '../systems/system.js';

const seal = { keys: { '2026-11': randomBytes(32) }, current: '2026-11' };

const sealedNestDq: Product = {
  ...nestDq,
  connect: ({ beanstalks, redis }) => connectNestDq({ beanstalks: [...beanstalks], redis, seal }),
};

type Round = (system: System, jobs: number) => Promise<{ readonly jobsPerSecond: number }>;

export const sealed: Measure = {
  name: 'sealed',
  title: 'nest-dq with jobs that are sealed and encrypted, and without a seal',
  run: async ({ rounds, pick }) => {
    const compare = async (what: string, jobs: number, round: Round): Promise<Row> => {
      const one = (product: Product) => () =>
        withSystem(product, async (system) => (await round(system, jobs)).jobsPerSecond);
      const { ours, beside } = await alternate(rounds(5), { ours: one(sealedNestDq), beside: one(nestDq) });
      const target = { of: 'ratio', least: 0.85 } as const;
      return row({ what, unit: 'jobs/s', ours, beside, besideName: 'without', target });
    };
    return [
      await compare('schedule, 3 copies', pick(60_000, 5_000), scheduleRound),
      await compare('drain, 3 copies', pick(20_000, 4_000), drainRound),
    ];
  },
};
