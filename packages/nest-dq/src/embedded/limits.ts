import { wrongValue } from '../errors.js';

/** How much a node takes. */
export interface NodeLimits {
  /** Bytes of the largest body of a job, as `beanstalkd -z`. @default 65535 */
  readonly maxJobSize: number;
  /** Jobs in all. A put above it is answered OUT_OF_MEMORY, and nothing else is refused. @default no limit */
  readonly maxJobs: number;
  /**
   * Bytes of all jobs, counted as their bodies and 300 for each job. A put above it is answered OUT_OF_MEMORY, and nothing
   * else is refused.
   * @default no limit
   */
  readonly maxMemory: number;
  /** Tubes in all. A `use` or `watch` of one more is answered OUT_OF_MEMORY. @default 100000 */
  readonly maxTubes: number;
  /** Tubes that one connection watches. A `watch` of one more is answered OUT_OF_MEMORY. @default 10000 */
  readonly maxWatched: number;
  /**
   * Bytes of what all connections have sent and the node has not read, and of the replies that wait for them. Above it the
   * connection that has the most is cut.
   * @default 256 MiB, or eight of the largest bodies if that is more
   */
  readonly maxBuffers: number;
}

const MIB = 1024 * 1024;
/** beanstalkd's own limit of -z. */
const LARGEST_JOB_SIZE = 2 ** 30;

/** Only bodies are limited: for a node that nobody but its own process reaches. */
export const NO_LIMITS: NodeLimits = {
  maxJobSize: 65_535,
  maxJobs: Infinity,
  maxMemory: Infinity,
  maxTubes: Infinity,
  maxWatched: Infinity,
  maxBuffers: Infinity,
};

export const LIMIT_NAMES = Object.keys(NO_LIMITS) as readonly (keyof NodeLimits)[];

/** What is not given is by default. `DQ_CONFIG`. */
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

/** The least `maxBuffers`: a body that arrives takes up to twice its size, and a job may be on its way out at the same time. */
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
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  const unit = ['maxJobSize', 'maxMemory', 'maxBuffers'].includes(name) ? 'bytes, ' : '';
  throw wrongValue('DQ_CONFIG', `\`${name}\``, value, `${unit}a whole number ${range}`);
}
