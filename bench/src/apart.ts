import { Program } from './program.js';

/** The argument of the process, as JSON. */
export interface ApartArguments {
  /** The URL of the module, and the name under which it exports the task. */
  readonly module: string;
  readonly name: string;
  readonly given: readonly unknown[];
}

/** Message sent by the process when the task has ended. */
export type ApartReport =
  | { readonly result: unknown }
  | { readonly error: { readonly text: string; readonly code: unknown } };

/** A task that runs in a new process each time. */
export interface Apart<A extends readonly unknown[], T> {
  /** Rejects as the task does there, with its stack, and the `code` of its error. */
  (...given: A): Promise<T>;
  /** Runs it in this process. */
  readonly here: (...given: A) => Promise<T>;
}

/**
 * Makes a task run in a process of its own, so that what ran before it, of another product or of this one, has left neither garbage
 * nor compiled code there. The module exports it: `export const fill = apart(import.meta.url, 'fill', async (jobs: number) => …)`.
 * What it is given is JSON: without Infinity, and with undefined only at the end. Its result is cloned: without functions or classes.
 */
export function apart<A extends readonly unknown[], T>(
  module: string,
  name: string,
  here: (...given: A) => Promise<T>,
): Apart<A, T> {
  return Object.assign(
    async (...given: A) => {
      const asked: ApartArguments = { module, name, given: given.filter((each) => each !== undefined) };
      const program = await Program.start<ApartReport>('apart/main.js', asked);
      await program.end();
      const [report] = program.reports;
      if ('error' in report!) throw new ApartError(name, report.error);
      return report!.result as T;
    },
    { here },
  );
}

class ApartError extends Error {
  readonly code: unknown;

  constructor(name: string, { text, code }: { readonly text: string; readonly code: unknown }) {
    super(text.split('\n', 1)[0]);
    this.stack = `${name} failed in its own process: ${text}`;
    this.code = code;
  }
}
