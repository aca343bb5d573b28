import type { End, Overlap, Push, Start, StreamLine } from './log.js';

/** One call of a handler. */
export interface Run extends Start {
  readonly end?: Pick<End, 'how' | 'at'>;
}

/** Collects the lines of all logs, which may be added in any order. */
export class StreamHistory {
  readonly pushes = new Map<number, Push>();
  private readonly runs = new Map<string, { -readonly [K in keyof Run]: Run[K] }>();
  readonly overlaps: Overlap[] = [];
  /** Messages that some run handled. */
  private readonly handled = new Set<number>();

  static of(lines: readonly StreamLine[]): StreamHistory {
    const history = new StreamHistory();
    for (const line of lines) history.add(line);
    return history;
  }

  add(line: StreamLine): void {
    switch (line.what) {
      case 'push':
        this.pushes.set(line.message, line);
        return;
      case 'overlap':
        this.overlaps.push(line);
        return;
      case 'start':
        this.runs.set(line.run, { ...line });
        return;
      case 'end': {
        const run = this.runs.get(line.run);
        if (!run) throw new Error(`the logs have the end of run ${line.run}, but not its start`);
        run.end = { how: line.how, at: line.at };
        if (line.how === 'done') this.handled.add(run.message);
        return;
      }
    }
  }

  get handledMessages(): number {
    return this.handled.size;
  }

  isHandled(message: number): boolean {
    return this.handled.has(message);
  }

  /** The number of messages that are surely stored and that no run has handled. */
  open(): number {
    let open = 0;
    for (const { message, answer } of this.pushes.values())
      if (answer === 'stored' && !this.handled.has(message)) open++;
    return open;
  }

  /** In the order of their starts. */
  allRuns(): Run[] {
    return [...this.runs.values()].toSorted((a, b) => a.at - b.at);
  }

  /** The runs in one consumer process, in the order of their starts. */
  runsIn(process: string): Run[] {
    return this.allRuns().filter((run) => run.process === process);
  }

  /** Returns the runs that are in progress in this process, according to its log. */
  runningIn(process: string): Run[] {
    return this.runsIn(process).filter(({ end }) => !end);
  }
}
