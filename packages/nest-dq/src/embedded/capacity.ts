import { wrongValue } from '../errors.js';

/** Capacity limits of a node. */
export interface NodeLimits {
  /** Maximum size of a job's body, in bytes, like `beanstalkd -z`. @default 65535 */
  readonly maxJobSize: number;
  /** Maximum number of jobs. A put beyond it is answered OUT_OF_MEMORY, and nothing else is refused. @default no limit */
  readonly maxJobs: number;
  /**
   * Maximum memory of all jobs, in bytes, counted as their bodies plus 300 for each job. A put beyond it is answered
   * OUT_OF_MEMORY, and nothing else is refused.
   * @default no limit
   */
  readonly maxMemory: number;
  /** Maximum number of tubes. A `use` or `watch` of another one is answered OUT_OF_MEMORY. @default 100000 */
  readonly maxTubes: number;
  /** Maximum number of tubes watched by one connection. A `watch` of another one is answered OUT_OF_MEMORY. @default 10000 */
  readonly maxWatched: number;
  /**
   * Maximum size of unread input and unsent replies of all connections, in bytes. Above it, the connection that holds the most is
   * cut.
   * @default 256 MiB, or eight of the largest bodies if that is more
   */
  readonly maxBuffers: number;
}

const MIB = 1024 * 1024;
/** beanstalkd's own maximum for -z. */
const LARGEST_JOB_SIZE = 2 ** 30;

/** Limits bodies only: for a node reached by its own process alone. */
export const NO_LIMITS: NodeLimits = {
  maxJobSize: 65_535,
  maxJobs: Infinity,
  maxMemory: Infinity,
  maxTubes: Infinity,
  maxWatched: Infinity,
  maxBuffers: Infinity,
};

export const LIMIT_NAMES = Object.keys(NO_LIMITS) as readonly (keyof NodeLimits)[];

/** Checks the limits and fills in the defaults. Throws `DQ_CONFIG`. */
export function resolveLimits(given: Partial<NodeLimits>): NodeLimits {
  const size = check('maxJobSize', given, NO_LIMITS.maxJobSize, 1, LARGEST_JOB_SIZE);
  return {
    maxJobSize: size,
    maxJobs: check('maxJobs', given, Infinity, 1),
    maxMemory: check('maxMemory', given, Infinity, 1),
    maxTubes: check('maxTubes', given, 100_000, 1),
    maxWatched: check('maxWatched', given, 10_000, 1),
    maxBuffers: check('maxBuffers', given, Math.max(256 * MIB, 8 * size), leastBuffers(size)),
  };
}

/** Minimum of `maxBuffers`: an arriving body takes up to twice its size, and a job may be on its way out at the same time. */
export function leastBuffers(maxJobSize = NO_LIMITS.maxJobSize): number {
  return MIB + 4 * maxJobSize;
}

function check(
  name: keyof NodeLimits,
  { [name]: value }: Partial<NodeLimits>,
  byDefault: number,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (value === undefined) return byDefault;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
  const unit = ['maxJobSize', 'maxMemory', 'maxBuffers'].includes(name) ? ' of bytes' : '';
  throw wrongValue('DQ_CONFIG', `\`${name}\``, value, `a whole number${unit}, ${range}`);
}
