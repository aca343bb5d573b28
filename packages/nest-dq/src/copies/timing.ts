/**
 * When each copy of a job surfaces on its node, and in which order. Pure rules for the producer and the consumer.
 * The primary surfaces up to a second early and is held until its exact millisecond; a backup surfaces later and is never held.
 */

/** How much earlier a primary surfaces by the node's clock: too early costs less than too late. */
const EARLY_MS = 25;
/**
 * The same for a backup; its stagger keeps it from ever being early. So it surfaces within the promised second even after
 * a slow put or a slow pick-up on a busy machine.
 */
const EARLY_BACKUP_MS = 250;
/** Gap between the priorities of a backup and of a primary due at the same time. */
const BACKUP_HANDICAP_S = 60;
const SECONDS_BITS = 30;
const EPOCH_2020 = Date.UTC(2020, 0, 1) / 1000;

/** beanstalkd's longest delay. */
export const LONGEST_DELAY_S = 2 ** 32 - 1;

/** Returns the delay after which copy `index` surfaces, in whole seconds, if its job is due in `msUntilDue`; `backupDelay` in ms. */
export function copyDelay(index: number, msUntilDue: number, backupDelay: number): number {
  const delay =
    index === 0
      ? Math.floor((msUntilDue - EARLY_MS) / 1000)
      : Math.ceil((msUntilDue - EARLY_BACKUP_MS) / 1000);
  return Math.min(LONGEST_DELAY_S, Math.max(0, delay) + stagger(index, backupDelay));
}

/** Returns how much later than the primary copy `index` comes, in whole seconds. */
export function stagger(index: number, backupDelay: number): number {
  return index * Math.ceil(backupDelay / 1000);
}

/**
 * Returns beanstalkd's priority (smaller is sooner): two bits of the user's priority, then the due time in seconds. So a backlog
 * drains by due time, and a backup yields to primaries due at the same time.
 * @param priority 0 high, 1 normal, 2 low
 * @param due Epoch ms.
 */
export function copyPriority(priority: number, due: number, index: number): number {
  const seconds = Math.floor(due / 1000) - EPOCH_2020 + (index === 0 ? 0 : BACKUP_HANDICAP_S);
  return priority * 2 ** SECONDS_BITS + Math.min(2 ** SECONDS_BITS - 1, Math.max(0, seconds));
}

/** Returns the range of due times, in epoch ms, of a job whose copy has this priority; `end` is exclusive. */
export function dueByPriority(priority: number): [earliest: number, end: number] {
  const seconds = priority % 2 ** SECONDS_BITS;
  const earliest = seconds === 0 ? -Infinity : (EPOCH_2020 + seconds - BACKUP_HANDICAP_S) * 1000;
  const end = seconds === 2 ** SECONDS_BITS - 1 ? Infinity : (EPOCH_2020 + seconds + 1) * 1000;
  return [earliest, end];
}
