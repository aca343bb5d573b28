import type { RedisView } from './ledger-view.js';

/** A property of a Redis because of which decisions may be lost, so that jobs may run twice. */
export type UnfitSetting =
  | { readonly is: 'old'; readonly version: string; readonly oldest: string }
  | { readonly is: 'evicting'; readonly policy: string }
  | { readonly is: 'forgetful' }
  /** Its settings can't be read, for lack of a permission. */
  | { readonly is: 'unreadable'; readonly reason: string };

/** The oldest version that nest-dq is tested with. */
export const OLDEST = [7, 0] as const;

/** Returns what is unfit about a server that answered. What it didn't report counts as fit. */
export function unfitSettings({ version, policy, appendOnly }: Partial<RedisView>): UnfitSetting[] {
  const found: UnfitSetting[] = [];
  if (version && isOlder(version)) found.push({ is: 'old', version, oldest: OLDEST.join('.') });
  if (policy && policy !== 'noeviction') found.push({ is: 'evicting', policy });
  if (appendOnly === false) found.push({ is: 'forgetful' });
  return found;
}

/** The same as an English sentence that says what to do. */
export function unfitText(setting: UnfitSetting): string {
  switch (setting.is) {
    case 'old':
      return `Redis ${setting.version} is older than ${setting.oldest}, the oldest version nest-dq is tested with.`;
    case 'evicting':
      return `Redis has maxmemory-policy ${setting.policy}, so it may evict decisions, and jobs may run twice; set noeviction.`;
    case 'forgetful':
      return 'Redis keeps no append-only file, so a restart forgets decisions, and jobs may run twice; set appendonly yes.';
    case 'unreadable':
      return `could not read the settings of Redis (${setting.reason}): make sure maxmemory-policy is noeviction and appendonly is yes.`;
  }
}

export function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}
