import { type Arguments, type Answer, linesOf, print, stdoutPage, type Text } from 'nest-handlers/cli';
import type { Clock, Timer } from 'nest-handlers/time';
import { ENDING } from './process.js';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const TOP_LEFT = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';
const CTRL_C = '\x03';

/** A typed character, or a key by name. */
export type Key = 'up' | 'down' | 'enter' | 'back' | (string & {});

const SPECIAL: Readonly<Record<string, Key>> = {
  '\x1b[A': 'up',
  '\x1b[B': 'down',
  '\x1bOA': 'up',
  '\x1bOB': 'down',
  '\r': 'enter',
  '\n': 'enter',
  '\x1b': 'back',
  '\x7f': 'back',
};

// oxlint-disable-next-line no-control-regex
const KEYS = /\x1b[[O][A-D]|[^]/g;

/** A terminal page that is redrawn. Without a terminal, the pages are printed one after the other. */
export class Screen {
  /** Whether the user asked to quit, by q, Ctrl-C or a signal. */
  left = false;
  /** Whether a key was typed since the page was read. */
  private isStale = false;
  private resting: { readonly timer: Timer; readonly wake: () => void } | undefined;
  private readonly onInput = (input: Buffer) => this.read(input.toString());
  private readonly onSignal = () => this.leave();
  private readonly onResize = () => this.wake();

  /** `onKey`: called with each key but q and Ctrl-C, before the page is drawn again at once. */
  constructor(
    private readonly clock: Clock,
    private readonly onKey: (key: Key) => void = () => undefined,
  ) {
    for (const signal of ENDING) process.on(signal, this.onSignal);
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.on('data', this.onInput);
    }
    if (!process.stdout.isTTY) return;
    process.stdout.on('resize', this.onResize);
    process.stdout.write(ENTER);
  }

  get rows(): number {
    return process.stdout.isTTY ? process.stdout.rows : 24;
  }

  /** Lines beyond the last row are left out, and those that are too long are cut. */
  show(text: Text): void {
    if (!process.stdout.isTTY) return void print(`${linesOf(text).join('\n')}\n\n`);
    const page = stdoutPage();
    const width = page.width - 1;
    // Cut before it is painted: the codes for colours have no width.
    // Without `wideFlag`: a screen is as wide as its terminal.
    const lines = linesOf(text, { width, paint: (style, each) => page.paint(style, each) }).slice(
      0,
      this.rows,
    );
    const shown = lines.map((line) => cut(line, width) + REST_OF_LINE);
    process.stdout.write(TOP_LEFT + shown.join('\r\n') + REST_OF_SCREEN);
  }

  /** Resolves after `ms`, or as soon as the user types a key. */
  async rest(ms: number): Promise<void> {
    if (this.isStale) {
      this.isStale = false;
      return;
    }
    await new Promise<void>((wake) => {
      this.resting = { timer: this.clock.after(ms, wake), wake };
    });
    this.resting = undefined;
  }

  /** Restores the terminal. */
  close(): void {
    for (const signal of ENDING) process.off(signal, this.onSignal);
    if (process.stdin.isTTY) {
      process.stdin.off('data', this.onInput);
      process.stdin.setRawMode(false);
      process.stdin.pause();
    }
    if (!process.stdout.isTTY) return;
    process.stdout.off('resize', this.onResize);
    process.stdout.write(LEAVE);
  }

  private read(input: string): void {
    for (const [key] of input.matchAll(KEYS)) {
      if (key === 'q' || key === CTRL_C) return this.leave();
      this.onKey(SPECIAL[key] ?? key);
    }
    this.wake();
  }

  private leave(): void {
    this.left = true;
    this.wake();
  }

  private wake(): void {
    this.isStale = this.resting === undefined;
    this.resting?.timer.cancel();
    this.resting?.wake();
  }
}

// oxlint-disable-next-line no-control-regex
const CODE = /\x1b\[\d+m/y;

/** Cuts a line after `width` characters. Codes for colours have no width, and all of them stay, so that each colour ends. */
export function cut(line: string, width: number): string {
  let shown = '';
  let used = 0;
  for (let at = 0; at < line.length;) {
    CODE.lastIndex = at;
    const [code] = CODE.exec(line) ?? [];
    if (code !== undefined) shown += code;
    else if (used++ < width) shown += line[at];
    at += code?.length ?? 1;
  }
  return shown;
}

const WATCH_MS = 2_000;

/** For commands that can show their answer again and again. */
export const WATCH_FLAG = { watch: { help: 'show it again every 2 seconds, until q is pressed' } };

/** Resolves with the answer of `ask`; with `--watch`, shows one after the other instead. */
export async function watched(
  args: Arguments,
  clock: Clock,
  ask: () => Promise<Answer>,
): Promise<Answer | void> {
  if (!args.has('watch')) return ask();
  if (args.has('json')) throw args.wrong('expected either --watch or --json, not both.');
  if (!process.stdout.isTTY) throw args.wrong('no terminal for --watch.');
  const screen = new Screen(clock);
  try {
    while (!screen.left) {
      const { text } = await ask();
      if (screen.left) return;
      screen.show(text);
      await screen.rest(WATCH_MS);
    }
  } finally {
    screen.close();
  }
}
