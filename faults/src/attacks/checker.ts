// Judges an attack by what was seen from outside: a pure function, so that its spec shows that it can fail.
import type { Findings } from '../checker.js';
import { atLeast, atMost, none } from '../experiment.js';
import type { Copy } from './copy.js';
import type { Seen } from './log.js';

/** A copy of a job that waits all the time, and what became of it. */
export interface Victim {
  readonly copy: Copy;
  /** Its body at the end. Undefined: it is gone. */
  readonly after: string | undefined;
}

export interface Evidence {
  readonly found: Findings;
  /** The tube of each payload that the application has scheduled, by its JSON. */
  readonly scheduled: ReadonlyMap<string, string>;
  readonly seen: readonly Seen[];
  /** How many copies on nodes, and commands to Redis, showed the secret of a payload, a key, a header or a group. */
  readonly readable: { readonly nodes: number; readonly redis: number };
  /** How many commands to Redis were looked at. */
  readonly commands: number;
  readonly victims: readonly Victim[];
  /** Revokes of the victims' jobs at the end that were not answered `revoked`. */
  readonly unrevoked: readonly string[];
  /** Copies whose seal was refused, and how many had to be. */
  readonly refused: number;
  readonly toRefuse: number;
  /** Dead letters that the application has at the end. */
  readonly letters: number;
  /** The names of processes that ended. */
  readonly ended: readonly string[];
  /** Copies on the nodes at the end, but for those that may be there. */
  readonly copiesLeft: number;
}

/** Damage that an attacker's position allows. */
export interface Allowed {
  /** These jobs may be lost, run again, or run although their adds failed. */
  readonly jobs?: ReadonlySet<number>;
  /** These copies of others may be gone. */
  readonly copies?: (copy: Copy) => boolean;
}

export interface Judgement {
  readonly forged: number;
  readonly readable: number;
  readonly victimsGone: number;
  /** Each is an empty text, or says what went wrong. */
  readonly checks: readonly string[];
}

export function judge(evidence: Evidence, { jobs = new Set(), copies = () => false }: Allowed): Judgement {
  const { found, scheduled, seen, readable } = evidence;
  const forged = seen.filter(({ tube, payload }) => scheduled.get(payload) !== tube);
  const gone = evidence.victims.filter(({ copy, after }) => after !== copy.body && !copies(copy));
  const others = <R extends { readonly job: number }>(runs: readonly R[]) =>
    runs.filter(({ job }) => !jobs.has(job));
  const strays = others(found.strays);
  return {
    forged: Math.max(forged.length, strays.length),
    readable: readable.nodes + readable.redis,
    victimsGone: gone.length,
    checks: [
      none('runs with a payload nobody scheduled in this tube', forged),
      none('runs of jobs nobody added, or whose add failed', strays),
      atMost('copies on nodes that reveal a secret', readable.nodes, 0),
      atMost('commands to Redis that reveal a secret', readable.redis, 0),
      atLeast('commands to Redis that were inspected', evidence.commands, 1),
      none('copies of others that are missing or changed', gone),
      none('revokes of waiting jobs at the end', evidence.unrevoked),
      atLeast('copies whose seal was rejected', evidence.refused, evidence.toRefuse),
      none(
        'lost',
        found.lost.filter((job) => !jobs.has(job)),
      ),
      none('early', found.early),
      none('ran twice', others(found.duplicates)),
      none('ran after a revoke', others(found.ranAfterRevoke)),
      none('wrong generation', others(found.wrongGeneration)),
      none('two runs with the same fence', others(found.sameFence)),
      none('started after a run with a greater fence', others(found.staleStarts)),
      atMost('dead letters', evidence.letters, 0),
      none('processes that exited', evidence.ended),
      atMost('copies left on the nodes', evidence.copiesLeft, 0),
    ],
  };
}
