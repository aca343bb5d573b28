import { formatPlaces, parsePlaces } from '../../copies/location.js';
import type { BuriedRequest, Letter, LetterPage, LetterRef } from '../requests.js';
import { letterName } from '../rules/letter-name.js';
import type { ScriptArguments, ScriptReply, ScriptWire } from './script-wire.js';

/** For reading a letter and for taking it away. */
export const letterWire: ScriptWire<LetterRef, Letter | undefined> = {
  write(to, { id, born }) {
    to.job(id);
    to.optional(born);
  },
  read: readLetter,
};

export function writePage(to: ScriptArguments, { limit, after }: LetterPage): void {
  to.number(limit);
  to.text(after ? String(after.died) : '');
  to.text(after ? letterName(after.id, after.born) : '');
}

/** Has no answer. */
export function writeBuried(to: ScriptArguments, { id, born, places }: BuriedRequest): void {
  to.job(id);
  to.number(born);
  to.text(formatPlaces(places));
}

export function readLetter(from: ScriptReply): Letter | undefined {
  const [name, json, places] = [from.text(), from.text(), from.text()];
  if (json === '') return undefined;
  const colon = name.lastIndexOf(':');
  // As `addLetter` in scripts/prelude.lua.ts writes it.
  const letter = JSON.parse(json) as Omit<Letter, 'id' | 'born' | 'places'>;
  return {
    ...letter,
    id: name.slice(0, colon),
    born: Number(name.slice(colon + 1)),
    places: parsePlaces(places),
  };
}
