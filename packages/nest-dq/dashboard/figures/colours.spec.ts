import { describe, expect, it } from '@jest/globals';
import { COLOURS, coloursOf } from './colours.js';

const NAMES = ['order.cancel', 'mail.send', 'trial.expire', 'invoice.remind', 'report.daily', 'cart.forget'];
const MANY = Array.from({ length: COLOURS }, (_, i) => `tube-${i}`);

describe('the colours of tubes', () => {
  it.each([[NAMES], [MANY]])('are the same whoever else is shown, and in whatever order: %j', (all) => {
    const together = coloursOf(all, all);
    expect(coloursOf(all.toReversed(), all.toReversed())).toEqual(together);
    for (const name of all) expect(coloursOf([name], all).get(name)).toBe(together.get(name));
  });

  it('differ for those shown together, as far as the palette goes', () => {
    for (const names of [NAMES, MANY])
      expect(new Set(coloursOf(names, names).values()).size).toBe(names.length);
    const more = [...MANY, ...NAMES];
    expect(new Set(coloursOf(NAMES, more).values()).size).toBe(NAMES.length);
    expect(new Set(coloursOf(more, more).values()).size).toBe(COLOURS);
  });
});
