// The outside log: what was asked of the library and what its handlers did, written down by those who saw it. Times are
// of the machine's clock, in milliseconds.
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { RevokeResult } from 'nest-dq';

/** An add, a replacement or a reschedule, and what it was answered. */
export interface Schedule {
  readonly what: 'schedule';
  readonly job: number;
  readonly generation: number;
  readonly due: number;
  readonly askedAt: number;
  /** When the answer came. */
  readonly at: number;
  /** `unsure`: it failed, and said that it may still run. */
  readonly answer: 'stored' | 'refused' | 'unsure';
  /** Confirmed ones, where it was stored. */
  readonly copies?: number;
  /** Of the error, where it was not. */
  readonly code?: string;
  /** It is meant never to succeed. */
  readonly doomed?: boolean;
}

export interface Revocation {
  readonly what: 'revoke';
  readonly job: number;
  readonly askedAt: number;
  readonly at: number;
  readonly answer: RevokeResult | 'none';
}

/** A handler was called. */
export interface Start {
  readonly what: 'start';
  /** Names the run: unique among all processes. */
  readonly run: string;
  readonly process: string;
  readonly job: number;
  readonly generation: number;
  readonly attempt: number;
  readonly fence: number;
  /** What the library says of it: when the run was due, and how late it is. */
  readonly dueAt: number;
  readonly lateness: number;
  readonly at: number;
}

/** Its signal was raised. */
export interface Abort {
  readonly what: 'abort';
  readonly run: string;
  readonly reason: string;
  readonly at: number;
}

/** The handler is about to return or to throw. */
export interface End {
  readonly what: 'end';
  readonly run: string;
  readonly how: 'done' | 'fail' | 'discard' | 'aborted';
  readonly at: number;
}

export type Line = Schedule | Revocation | Start | Abort | End;

/** Appends a line at once, so that what was written survives the death of its process. */
export class LogWriter {
  private readonly file: number;

  constructor(path: string) {
    this.file = openSync(path, 'a');
  }

  write(line: Line): void {
    writeSync(this.file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.file);
  }
}

const CHUNK = 1 << 16;

/** Reads a log while it is written. */
export class LogReader {
  private readonly file: number;
  private readonly chunk = Buffer.alloc(CHUNK);
  private position = 0;
  /** A line that is not complete yet. */
  private rest = '';

  /** The file is made if it is not there yet. */
  constructor(path: string) {
    this.file = openSync(path, 'a+');
  }

  /** What was written since the last call. */
  read(): Line[] {
    let text = this.rest;
    for (let length = -1; length !== 0;) {
      length = readSync(this.file, this.chunk, 0, CHUNK, this.position);
      this.position += length;
      text += this.chunk.toString('latin1', 0, length); // so that no character is cut in two; names are ASCII
    }
    const lines = text.split('\n');
    this.rest = lines.pop()!;
    return lines.map((line) => JSON.parse(line) as Line);
  }

  close(): void {
    closeSync(this.file);
  }
}
