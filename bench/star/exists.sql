SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM list b WHERE b.url = v.url)
