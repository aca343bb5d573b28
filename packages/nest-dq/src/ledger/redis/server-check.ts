const OLDEST = [7, 0] as const;

/** What makes this server unfit to keep decisions, one sentence each, from its INFO. */
export function unfitness(info: string): string[] {
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const problems: string[] = [];
  const version = value('redis_version');
  if (version && isOlder(version)) {
    problems.push(
      `Redis ${version} is older than ${OLDEST.join('.')}, the oldest with which nest-dq is tested.`,
    );
  }
  const policy = value('maxmemory_policy');
  if (policy && policy !== 'noeviction') {
    problems.push(
      `Redis has maxmemory-policy ${policy}, so it may evict what was decided, and jobs may run twice; set noeviction.`,
    );
  }
  if (value('aof_enabled') === '0') {
    problems.push(
      'Redis keeps no append-only file, so a restart forgets what was decided, and jobs may run twice; set appendonly yes.',
    );
  }
  return problems;
}

/** For servers that do not let us ask. */
export function unchecked(error: Error): string {
  return `Redis could not be asked for its settings (${error.message}): make sure that maxmemory-policy is noeviction and appendonly is yes.`;
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}
