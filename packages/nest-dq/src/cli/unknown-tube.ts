import { type Answer, type Arguments, didYouMean, nearest } from 'nest-handlers/cli';
import type { DqInspector } from '../operate/inspector.js';
import { isUnknown, type TubeView } from '../operate/tube-view.js';
import { note } from './process.js';

/** A tube that nobody knows: its name may be wrong. */
export interface UnknownTube {
  /** For people. */
  readonly text: string;
  /** Names of known tubes that may have been meant. */
  readonly similar: readonly string[];
}

/**
 * Resolves with undefined if anybody knows the tube: a process consumes it, a node has a copy of a job of it, it has a dead
 * letter, or it is paused; or if that can't be found out. `view`: of this tube, if it is known already.
 */
export async function unknownTube(
  inspector: DqInspector,
  tube: string,
  view?: TubeView,
): Promise<UnknownTube | undefined> {
  const found = view ?? (await inspector.tube(tube));
  if (!isUnknown(found) || found.paused) return undefined;
  const [{ tubes }, processes] = await Promise.all([
    inspector.tubes(),
    inspector.processes().catch(() => []), // names to suggest; the view itself has answered
  ]);
  const consumed = processes.flatMap((each) => each.tubes.map((load) => load.tube));
  const known = [...tubes.filter((each) => !isUnknown(each)).map((each) => each.tube), ...consumed];
  const similar = nearest(tube, known);
  const fact = `nobody knows the tube ${tube}: no process consumes it, and it has no jobs and no dead letters.`;
  return { text: `${fact}${didYouMean(similar)}`, similar };
}

/**
 * Resolves with the answer of a command that changes nothing about a tube that nobody knows, unless `--force` is given; undefined
 * if somebody does. `verb`: what it would do. `left`: the tube's state, as a sentence's end and in the document.
 */
export async function refusedUnknown(
  args: Arguments,
  inspector: DqInspector,
  tube: string,
  verb: string,
  left: { readonly text: string; readonly json: object },
): Promise<Answer | undefined> {
  const unknown = args.has('force') ? undefined : await unknownTube(inspector, tube);
  if (!unknown) return undefined;
  note(`${unknown.text} To ${verb} it in advance: --force`);
  return {
    json: { tube, ...left.json, unknown: true, similar: unknown.similar },
    text: `${tube}: ${left.text}`,
    status: 1,
  };
}

/** Warns on standard error of a tube that nobody knows, as the reason why a command found nothing. Resolves with whether it did. */
export async function warnedOfUnknown(inspector: DqInspector, tube: string): Promise<boolean> {
  const unknown = await unknownTube(inspector, tube);
  if (unknown) note(unknown.text);
  return unknown !== undefined;
}

/**
 * Resolves with the answer about a tube that nobody knows, or undefined if anybody does: the warning on standard error, and no list
 * of zeros. `json`: the empty document of the command.
 */
export async function unknownAnswer(
  inspector: DqInspector,
  tube: string,
  json: object,
): Promise<Answer | undefined> {
  const unknown = await unknownTube(inspector, tube);
  if (!unknown) return undefined;
  note(unknown.text);
  return { json: { ...json, unknown: true, similar: unknown.similar }, text: [], status: 1 };
}
