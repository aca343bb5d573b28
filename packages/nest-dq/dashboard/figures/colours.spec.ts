import { describe, expect, it } from '@jest/globals';
import { COLOURS, Colours } from './colours.js';

const NAMES = ['order.cancel', 'mail.send', 'trial.expire', 'invoice.remind', 'report.daily', 'cart.forget'];

describe('the colours of tubes', () => {
  it('are the same for a name, whatever its place and whoever else is shown', () => {
    const alone = NAMES.map((name) => new Colours().of([name]).get(name));
    const colours = new Colours();
    for (const [i, name] of NAMES.entries()) expect(colours.of([name]).get(name)).toBe(alone[i]);
    const together = new Colours().of(NAMES);
    expect(new Colours().of(NAMES.toReversed())).toEqual(together);
  });

  it('differ for those shown together', () => {
    const many = Array.from({ length: COLOURS }, (_, i) => `tube-${i}`);
    for (const names of [NAMES, many])
      expect(new Set(new Colours().of(names).values()).size).toBe(names.length);
    expect(new Set(new Colours().of([...many, 'one.more']).values()).size).toBe(COLOURS);
  });

  it('stay when others come and go', () => {
    const colours = new Colours();
    const first = colours.of(NAMES.slice(0, 3));
    const all = colours.of(NAMES);
    for (const [name, colour] of first) expect(all.get(name)).toBe(colour);
    const last = colours.of(NAMES.slice(3));
    for (const [name, colour] of last) expect(all.get(name)).toBe(colour);
  });
});
