// The outside log: the calls of the library with their answers, written by the producer side, and what the handlers did,
// written by the handlers. Times are those of the machine's clock, in milliseconds.
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { RevokeResult } from 'nest-dq';

/** An add, a replacement or a reschedule, with its answer. */
export interface Schedule {
  readonly what: 'schedule';
  readonly job: number;
  readonly generation: number;
  readonly due: number;
  readonly askedAt: number;
  /** When the answer came. */
  readonly at: number;
  /** `unsure`: the call failed, and its error said that the job may still run. */
  readonly answer: 'stored' | 'refused' | 'unsure';
  /** The number of confirmed copies, if it was stored. */
  readonly copies?: number;
  /** The code of the error, if it was not stored. */
  readonly code?: string;
  /** This job is meant never to succeed. */
  readonly doomed?: boolean;
  /** The JSON of its payload, if that has a secret. */
  readonly payload?: string;
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
  /** The name of the run, unique among all processes. */
  readonly run: string;
  readonly process: string;
  readonly job: number;
  readonly generation: number;
  readonly attempt: number;
  readonly fence: number;
  /** As the library gave it to the handler, like `lateness`. */
  readonly dueAt: number;
  readonly lateness: number;
  readonly at: number;
}

/** The signal of a run was aborted. */
export interface Abort {
  readonly what: 'abort';
  readonly run: string;
  readonly reason: string;
  readonly at: number;
}

/** A handler is about to return or to throw. */
export interface End {
  readonly what: 'end';
  readonly run: string;
  readonly how: 'done' | 'fail' | 'discard' | 'aborted';
  readonly at: number;
}

export type Line = Schedule | Revocation | Start | Abort | End;

/** Writes each line synchronously, so that a process that is killed loses no line. */
export class LogWriter<L = Line> {
  private readonly file: number;

  constructor(path: string) {
    this.file = openSync(path, 'a');
  }

  write(line: L): void {
    writeSync(this.file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.file);
  }
}

const CHUNK = 1 << 16;

/** Reads a log while it is written. */
export class LogReader<L = Line> {
  private readonly file: number;
  private readonly chunk = Buffer.alloc(CHUNK);
  private position = 0;
  /** The part of a line that is not complete yet. */
  private rest = '';

  /** Creates the file if it does not exist yet. */
  constructor(path: string) {
    this.file = openSync(path, 'a+');
  }

  /** The lines that were written since the last call. */
  read(): L[] {
    let text = this.rest;
    for (let length = -1; length !== 0;) {
      length = readSync(this.file, this.chunk, 0, CHUNK, this.position);
      this.position += length;
      text += this.chunk.toString('latin1', 0, length); // one byte a character, so a chunk cuts none in two; the names are ASCII
    }
    const lines = text.split('\n');
    this.rest = lines.pop()!;
    return lines.map((line) => JSON.parse(line) as L);
  }

  close(): void {
    closeSync(this.file);
  }
}
