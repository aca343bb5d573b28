import { describe, expect, it } from '@jest/globals';
import { alternate } from './rounds.js';

describe('alternate', () => {
  it('gives each contender its turn in every round, and turns the order round', async () => {
    const order: string[] = [];
    const contender = (name: string) => async () => order.push(name);
    const values = await alternate(3, { ours: contender('ours'), peer: contender('peer') });
    expect(order).toEqual(['ours', 'peer', 'peer', 'ours', 'ours', 'peer']);
    expect(values).toEqual({ ours: [1, 4, 5], peer: [2, 3, 6] });
  });
});
