import { announcedIn, awaySinceIn } from '../cluster/admission.js';
import type { Cluster } from '../cluster/cluster.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import { awayCause } from '../operate/away-cause.js';

/** An outage of Redis for this command, as the application's processes show it on the nodes. */
export interface Outage {
  /** Since when they can't use it either. Absent if none of them shows it. */
  readonly since?: Date;
  /** Whether they are there and show no outage. */
  readonly isWellThere: boolean;
}

/** Returns what these tubes of the nodes show. */
export function outageIn(tubes: readonly string[], prefix: string): Outage {
  const since = awaySinceIn(tubes, prefix);
  return { ...(since && { since }), isWellThere: !since && announcedIn(tubes, prefix).length > 0 };
}

/** Resolves with what the nodes show; undefined if Redis can be used. Never rejects. */
export async function outageOf(
  { up }: Pick<LedgerView, 'up'>,
  { nodes }: Pick<Cluster, 'nodes'>,
  prefix: string,
): Promise<Outage | undefined> {
  if (up) return undefined;
  const asked = nodes.map((node) => node.ask<string[]>((connection, done) => connection.listTubes(done)));
  return outageIn(
    (await Promise.all(asked)).flatMap((tubes) => tubes ?? []),
    prefix,
  );
}

/** Whether only this command can't use Redis. Processes may not have noticed yet that it is silent. */
export function isOnlyHere(cause: string, outage: Outage | undefined): boolean {
  const silent = ['silent', 'connecting'].includes(awayCause(cause)) || /^no answer\b/.test(cause);
  return outage?.isWellThere === true && !silent;
}
