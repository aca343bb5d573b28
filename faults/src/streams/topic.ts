import { defineTopic } from 'nest-kq';
import type { Numbered } from './log.js';

export const NUMBERS = defineTopic<Numbered>('numbers');
