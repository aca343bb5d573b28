// The limits of a tube's runs: the same rules as limits/limits.lua.ts.
import type { Usage, UsageRequest } from './limits.js';
import type { ClaimAnswer, ClaimContext, RunRef } from '../requests.js';
import type { LimitUse, Moment, Records } from '../records/records.js';

/** Pause before asking again if all permits are taken. Shorter if a run of the same process ends. */
export const LOOK_AT_PERMITS_MS = 500;
/**
 * Jobs waiting for a group ask one after the other, spaced by a fraction of how long its last run has been going, in ms. So a
 * group of quick jobs stays quick, and one of slow jobs doesn't load the ledger.
 */
export const GROUP_PATIENCE = { part: 4, least: 10, most: 500 };
/** Longest time any job is asked to wait for a group. */
export const LONGEST_GROUP_WAIT_MS = 60_000;

/** State shared by the claims of one call. */
export interface Claiming extends ClaimContext {
  /** How many of them the rate refused. */
  refusals?: number;
}

/** Why no run may be granted now, and in how many ms to ask again; undefined if one may. */
export function limited(
  { limitUse, ahead }: Records,
  permit: string | undefined,
  claiming: Claiming,
  { now, us }: Moment,
): Extract<ClaimAnswer, { kind: 'limited' }> | undefined {
  const { interval, concurrency = Infinity, perGroup = Infinity } = claiming.limits ?? {};
  if (limitUse.running.size >= concurrency)
    return { kind: 'limited', by: 'concurrency', ms: LOOK_AT_PERMITS_MS };
  const group = permit ? limitUse.groups.get(permit) : undefined;
  if (group && group.running >= perGroup) {
    const { part, least, most } = GROUP_PATIENCE;
    const step = Math.min(most, Math.max(least, Math.floor((now - group.grantedAt) / part)));
    group.askAt = Math.min(now + LONGEST_GROUP_WAIT_MS, Math.max(now, group.askAt) + step);
    return { kind: 'limited', by: 'group', ms: group.askAt - now };
  }
  if (interval === undefined) return undefined;
  const wait = beginning(limitUse, claiming) - us;
  if (wait <= ahead * 1_000) return undefined;
  const refusals = claiming.refusals ?? 0;
  claiming.refusals = refusals + 1;
  return { kind: 'limited', by: 'rate', ms: Math.ceil((wait + refusals * interval) / 1_000) };
}

/** Counts a granted run. Returns the ledger time, in ms, before which it must not start. */
export function takeTurn(records: Records, claiming: Claiming, { us }: Moment): number {
  const { interval } = claiming.limits ?? {};
  if (interval === undefined) return 0;
  const from = beginning(records.limitUse, claiming);
  records.keepTurn(Math.max(records.limitUse.turn, us) + interval);
  return Math.ceil(from / 1_000);
}

/** Holds a run's permit until its lease ends. Does nothing for a run without a permit. */
export function holdPermit(
  { limitUse: { running, groups } }: Records,
  id: string,
  permit: string | undefined,
  until: number,
  { now }: Moment,
): void {
  if (permit === undefined) return;
  const held = running.get(id);
  if (held?.permit === permit) {
    held.until = until;
    return;
  }
  running.set(id, { permit, until });
  if (permit === '') return;
  const group = groups.get(permit);
  if (!group) groups.set(permit, { running: 1, grantedAt: now, askAt: 0 });
  else {
    group.running++;
    group.grantedAt = now;
  }
}

/** Returns the permit of a finished run. */
export function returnPermit(
  { limitUse: { running, groups } }: Records,
  { id, permit }: Pick<RunRef, 'id' | 'permit'>,
): void {
  if (permit === undefined || running.get(id)?.permit !== permit) return;
  running.delete(id);
  const group = groups.get(permit);
  if (group && --group.running <= 0) groups.delete(permit);
}

/** Reclaims permits whose lease is over, except spared ones. */
export function returnLapsed(
  records: Records,
  { limits, sparedFrom = Infinity }: Claiming,
  { now }: Moment,
): void {
  if (limits?.concurrency === undefined && limits?.perGroup === undefined) return;
  for (const [id, { permit, until }] of records.limitUse.running)
    if (until <= now && until < sparedFrom) returnPermit(records, { id, permit });
}

export function usage({ limitUse }: Records, { group }: UsageRequest, { now }: Moment): Usage {
  const { turn, running, groups } = limitUse;
  let lasting = 0;
  for (const { until } of running.values()) if (until > now) lasting++;
  return { running: lasting, inGroup: (group && groups.get(group)?.running) || 0, turn };
}

/** Ledger time, in microseconds, from which the next run may start. */
function beginning({ turn }: LimitUse, { limits: { interval = 0, burst = 1 } = {} }: Claiming): number {
  return turn - (burst - 1) * interval;
}
