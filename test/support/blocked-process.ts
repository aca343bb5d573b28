import { writeFile } from 'node:fs/promises';
import type { DqOptions } from 'nest-dq';
import type { Start } from './jobs.js';
import { startProgram, type Program } from './program.js';

/** A process of the built library whose handlers block its event loop until `release`, and what it says. */
export class BlockingProcess {
  readonly starts: Pick<Start, 'id' | 'attempt' | 'fence'>[] = [];
  readonly ends: string[] = [];
  readonly warnings: string[] = [];

  private readonly program: Program;

  /** @param until A file that is not there yet: it ends the block. */
  constructor(
    tube: string,
    options: DqOptions,
    private readonly until: string,
    withoutLeaseThread = false,
  ) {
    const argument = JSON.stringify({ tube, options, until, withoutLeaseThread });
    this.program = startProgram('support/blocking-process.mjs', argument, (line) => {
      const { start, end, warning } = JSON.parse(line) as { start?: Start; end?: string; warning?: string };
      if (start) this.starts.push(start);
      if (end) this.ends.push(end);
      if (warning) this.warnings.push(warning);
    });
  }

  release(): Promise<void> {
    return writeFile(this.until, '');
  }

  /** Stops it in its tracks, all of its threads. */
  freeze(): void {
    this.program.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.program.child.kill('SIGCONT');
  }

  get lostItsLease(): boolean {
    return this.warnings.some((warning) => warning.includes('lost its lease'));
  }
}
