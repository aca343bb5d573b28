import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';
import type { Clock } from 'nest-handlers/time';

/** Tries in a row. After one failure the node may just have gone away. */
const CERTAIN = 2;
/** Milliseconds. */
const TELL_EVERY = 60_000;
const MOST_NAMES = 5;
const OWN_LIMIT = /\bE[MN]FILE\b/;

/**
 * Whether a node takes connections that reserve. At its limit of open files beanstalkd accepts no more: open connections go
 * on, and a new one gets no answer.
 */
export class LaneHealth {
  /** Failed tries in a row, by tube. */
  private readonly failures = new Map<string, number>();
  private error: BeanstalkError | undefined;
  private toldAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly trouble: (message: string) => void,
  ) {}

  /** Why tubes have no connection, in a few words. */
  get problem(): string | undefined {
    const tubes = this.tubes();
    return tubes.length === 0
      ? undefined
      : `no connection for reserving can be opened for ${named(tubes)} (${this.error?.message})`;
  }

  /** A tube's connection was lost, or got a refusal, before it could reserve. */
  refused(tube: string, error: BeanstalkError): void {
    const failures = (this.failures.get(tube) ?? 0) + 1;
    this.failures.set(tube, failures);
    this.error = error;
    const now = this.clock.now();
    if (failures < CERTAIN || now - this.toldAt < TELL_EVERY) return;
    this.toldAt = now;
    this.trouble(`${this.problem}, so jobs run late, from other nodes, or not at all; ${adviceOn(error)}`);
  }

  /** The tube's connection reserves, or the tube needs none any more. */
  done(tube: string): void {
    this.failures.delete(tube);
  }

  /** The node is away. That is told elsewhere. */
  forget(): void {
    this.failures.clear();
  }

  private tubes(): string[] {
    const tubes: string[] = [];
    for (const [tube, failures] of this.failures) if (failures >= CERTAIN) tubes.push(tube);
    return tubes;
  }
}

function named(tubes: readonly string[]): string {
  if (tubes.length === 1) return `the tube ${tubes[0]}`;
  const names = tubes.slice(0, MOST_NAMES).join(', ');
  return `${tubes.length} tubes: ${names}${tubes.length > MOST_NAMES ? ', …' : ''}`;
}

function adviceOn({ code, message }: BeanstalkError): string {
  if (code === 'OUT_OF_MEMORY') return 'the node needs more memory';
  const who = OWN_LIMIT.test(message) ? 'this process is' : 'the node is probably';
  return `${who} at its limit of open files: raise it (ulimit -n, or LimitNOFILE in a unit of systemd)`;
}
