//! Contributory schemes: the members make the key among themselves.
