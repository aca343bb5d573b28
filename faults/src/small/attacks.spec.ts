import { describe, expect, it } from '@jest/globals';
import { ATTACKS } from '../suites.js';
import { eachPasses } from './command.js';

/** The others do the same by masses or on all nodes at once, or have a spec of their own. */
const NAMES = ['forge', 'alter', 'replay', 'cross', 'siblings', 'stall', 'wire', 'redis'];
const experiments = ATTACKS.all.filter(({ name }) => NAMES.includes(name));

it('they are there', () => expect(experiments.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted()));

describe('sealed jobs withstand the attack', () => eachPasses(experiments, '--attacks'));
