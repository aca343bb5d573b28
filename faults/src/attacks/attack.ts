import type { AnyExperiment } from '../experiment.js';
import type { Allowed } from './checker.js';
import type { AttackLab } from './lab.js';

export interface Attack extends AnyExperiment {
  /** Begins the work of the application, and attacks it. */
  run(lab: AttackLab): Promise<Attacked>;
}

export interface Attacked {
  /** The results of its own checks: each is an empty text, or says why the attack went too far. @default none */
  readonly checks?: readonly string[];
  /** For the reader of its row. @default none */
  readonly notes?: readonly string[];
  /** Damage that this attacker's position allows, as documented in docs/security.md. @default nothing */
  readonly allows?: Allowed;
}
