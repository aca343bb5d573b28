import type { LoggerService } from '@nestjs/common';

/** Marks the failures that the demo causes itself; log lines that contain it are not shown. */
export const ON_PURPOSE = 'failed on purpose';

const CLEAR_LINE = '\r\x1b[2K';
/** Milliseconds between two lines of progress if the output is no terminal. */
const PROGRESS_EVERY = 2_000;

/**
 * Shows the progress: in a terminal on one line at the bottom, which changes; in other outputs as a new line every two
 * seconds. It also shows the log of the library.
 */
export class Screen implements LoggerService {
  private readonly begin = performance.now();
  private live = '';
  private nextProgress = 0;

  constructor(private readonly out: NodeJS.WriteStream) {}

  progress(line: string): void {
    if (this.out.isTTY) {
      this.live = `${this.time()}  ${line}`;
      this.out.write(CLEAR_LINE + this.live);
    } else if (performance.now() >= this.nextProgress) {
      this.nextProgress = performance.now() + PROGRESS_EVERY;
      this.say(line);
    }
  }

  say(line: string): void {
    if (this.out.isTTY) this.out.write(`${CLEAR_LINE}${this.time()}  ${line}\n${this.live}`);
    else this.out.write(`${this.time()}  ${line}\n`);
  }

  /** Removes the line of progress. The other lines stay. */
  end(): void {
    if (this.live !== '') this.out.write(CLEAR_LINE);
    this.live = '';
  }

  log(message: string): void {
    if (!message.includes(ON_PURPOSE)) this.say(`  ${message}`);
  }

  warn(message: string): void {
    this.log(message);
  }

  error(message: string): void {
    this.log(message);
  }

  private time(): string {
    return `${((performance.now() - this.begin) / 1_000).toFixed(1).padStart(5)} s`;
  }
}
