import { compareWays, type Ways } from '../compare-ways.js';
import type { Measure } from '../measure.js';

export const sealed: Measure = {
  name: 'sealed',
  title: 'nest-dq with jobs that are sealed and encrypted, and without a seal',
  run: async ({ rounds, pick }) => {
    const ways: Ways = {
      rounds,
      ours: 'nest-dq, sealed',
      beside: 'nest-dq',
      besideName: 'without',
      least: 0.85,
    };
    return compareWays(ways, { schedule: pick(60_000, 5_000), drain: pick(20_000, 4_000) });
  },
};
