import { eachHalfPasses } from './jobs.js';

eachHalfPasses(1);
