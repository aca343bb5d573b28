import type { Clock, Timer } from 'nest-handlers/time';
import { escaped } from 'nest-handlers/log';
import { print } from 'nest-handlers/cli';
import { ENDING } from './process.js';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const TOP_LEFT = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
const CTRL_C = '\x03';

/** A page of the terminal that is drawn again and again. Without a terminal the pages follow each other. */
export class Screen {
  /** Whether somebody asked for the end, by q, Ctrl-C or a signal. */
  left = false;
  private resting: { readonly timer: Timer; readonly wake: () => void } | undefined;
  private readonly onKey = (keys: Buffer) => {
    const text = keys.toString();
    if (text.includes('q') || text.includes(CTRL_C)) this.leave();
  };
  private readonly onSignal = () => this.leave();

  constructor(private readonly clock: Clock) {
    for (const signal of ENDING) process.on(signal, this.onSignal);
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.on('data', this.onKey);
    }
    if (process.stdout.isTTY) process.stdout.write(ENTER);
  }

  get rows(): number {
    return process.stdout.isTTY ? process.stdout.rows : 24;
  }

  /** Longer lines are cut, and lines beyond the last row are left out. */
  show(lines: readonly string[]): void {
    if (!process.stdout.isTTY) return void print(`${lines.join('\n')}\n\n`);
    const { columns } = process.stdout;
    const shown = lines.slice(0, this.rows).map((line) => escaped(line).slice(0, columns - 1) + REST_OF_LINE);
    process.stdout.write(TOP_LEFT + shown.join('\r\n') + REST_OF_SCREEN);
  }

  /** Resolves after this many milliseconds, or as soon as somebody asks for the end. */
  rest(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.resting = { timer: this.clock.after(ms, wake), wake };
    });
  }

  /** Gives the terminal back as it was. */
  close(): void {
    for (const signal of ENDING) process.off(signal, this.onSignal);
    if (process.stdin.isTTY) {
      process.stdin.off('data', this.onKey);
      process.stdin.setRawMode(false);
      process.stdin.pause();
    }
    if (process.stdout.isTTY) process.stdout.write(LEAVE);
  }

  private leave(): void {
    this.left = true;
    this.resting?.timer.cancel();
    this.resting?.wake();
  }
}
