import type { ConsumerArguments, ConsumerReport } from './consumer/report.js';
import { Program } from './program.js';

/** A consumer in a process of its own. */
export class ConsumerProcess {
  private constructor(private readonly program: Program<ConsumerReport>) {}

  /** Resolves when the process consumes. */
  static async start(given: ConsumerArguments): Promise<ConsumerProcess> {
    return new ConsumerProcess(await Program.start('consumer/main.js', given));
  }

  /** Its reports, oldest first. */
  get reports(): readonly ConsumerReport[] {
    return this.program.reports;
  }

  /** The runs begun, by its last report. */
  get count(): number {
    return this.reports.at(-1)?.count ?? 0;
  }

  /** The first report at this instant (ms since 1970) or later. If there is none, the last report. */
  reportAt(instant: number): ConsumerReport {
    return this.reports.find(({ at }) => at >= instant) ?? this.reports.at(-1)!;
  }

  /** Kills the process; resolves when it is gone. */
  stop(): Promise<void> {
    return this.program.stop();
  }
}
