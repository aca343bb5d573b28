import type { Attack } from './attack.js';
import { alter } from './experiments/alter.js';
import { cross } from './experiments/cross.js';
import { flood } from './experiments/flood.js';
import { forge } from './experiments/forge.js';
import { guess } from './experiments/guess.js';
import { redis } from './experiments/redis.js';
import { replay } from './experiments/replay.js';
import { rubbish } from './experiments/rubbish.js';
import { siblings } from './experiments/siblings.js';
import { stall } from './experiments/stall.js';
import { allWires, wire } from './experiments/wire.js';

/** In the order in which they run. */
export const ATTACK_EXPERIMENTS: readonly Attack[] = [
  forge,
  alter,
  replay,
  cross,
  siblings,
  flood,
  stall,
  wire,
  allWires,
  redis,
  guess,
  rubbish,
];
