import type { Stats } from '../beanstalk/codec/yaml.js';

interface Counters {
  /** Jobs that were ever put. */
  readonly puts: number;
  /** Jobs that are there. */
  readonly jobs: number;
  /** Records that were written to the log. */
  readonly records: number;
}

/**
 * Tells from the counters of one server process whether its log works. When beanstalkd cannot write its log, it switches it
 * off until a restart, and goes on to answer INSERTED and DELETED. A working log gets at least one record for each put and
 * each deletion, so fewer records mean that it stopped. A server without a log never stops.
 */
export class BinlogWatch {
  /** The server has a log. */
  there = false;
  stopped = false;
  private last: Counters | undefined;

  /** Call it with the answers of one process, in their order. */
  learn(stats: Stats): void {
    const { last } = this;
    const now = countersOf(stats);
    this.last = now;
    this.there = now.records > 0 || count(stats, 'binlog-current-index') > 0;
    if (!this.there || !last) return;
    const records = now.records - last.records;
    const puts = now.puts - last.puts;
    // A job whose put was answered BURIED is counted in two states.
    const deletions = Math.max(0, puts - (now.jobs - last.jobs));
    if (records < puts + deletions) this.stopped = true;
    else if (records > 0) this.stopped = false; // it was only suspected to have stopped
  }

  /** The server gave an answer that tells of a log that cannot be written. From now on the log must be seen to advance. */
  doubt(): void {
    if (!this.there) return;
    this.stopped = true;
    this.last = undefined; // the server counts the failed record too
  }
}

function countersOf(stats: Stats): Counters {
  const states = ['ready', 'reserved', 'delayed', 'buried'];
  return {
    puts: count(stats, 'total-jobs'),
    jobs: states.reduce((sum, state) => sum + count(stats, `current-jobs-${state}`), 0),
    records: count(stats, 'binlog-records-written'),
  };
}

function count(stats: Stats, name: string): number {
  return Number(stats[name] ?? 0);
}
