import type { ConsumerArguments, ConsumerReport } from './consumer/report.js';
import { Program } from './program.js';

/** A consumer in a process of its own. */
export class ConsumerProcess {
  private constructor(private readonly program: Program<ConsumerReport>) {}

  /** Resolves when it consumes. */
  static async start(given: ConsumerArguments): Promise<ConsumerProcess> {
    return new ConsumerProcess(await Program.start('consumer/main.js', given));
  }

  /** What it told, oldest first. */
  get reports(): readonly ConsumerReport[] {
    return this.program.reports;
  }

  /** Runs begun, as far as it told. */
  get count(): number {
    return this.reports.at(-1)?.count ?? 0;
  }

  /** The first report from that instant on, in ms since 1970; the last one where there is none. */
  reportAt(instant: number): ConsumerReport {
    return this.reports.find(({ at }) => at >= instant) ?? this.reports.at(-1)!;
  }

  /** Ends it; resolves when it is gone. */
  stop(): Promise<void> {
    return this.program.stop();
  }
}
