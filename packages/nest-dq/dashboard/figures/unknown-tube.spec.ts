import { expect, it } from '@jest/globals';
import { isUnknownTube } from './unknown-tube.js';

it('a tube is unknown if no process, node or dead letter has it, and not while nobody knows', () => {
  const copies = { ready: 0, delayed: 0, reserved: 0, buried: 0 };
  const tube = { tube: 't', nodes: 3, consumers: 0, watching: 0, dead: 0, copies };
  expect(isUnknownTube(tube)).toBe(true);
  expect(isUnknownTube({ ...tube, consumers: 1 })).toBe(false);
  expect(isUnknownTube({ ...tube, dead: 1 })).toBe(false);
  expect(isUnknownTube({ ...tube, copies: { ...copies, buried: 1 } })).toBe(false);
  expect(isUnknownTube({ ...tube, nodes: 0 })).toBe(false);
  const { dead: _dead, ...untold } = tube;
  expect(isUnknownTube(untold)).toBe(false);
});
