import type { Attack } from './attack.js';
import { alter } from './experiments/alter.js';
import { forge } from './experiments/forge.js';

/** In the order in which they run. */
export const ATTACK_EXPERIMENTS: readonly Attack[] = [forge, alter];
